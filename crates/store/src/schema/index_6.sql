-- A session's row is what its file said when the file had this stamp; the row is made again when the stamp differs.
DROP TABLE sessions;

CREATE TABLE sessions (
    id          TEXT PRIMARY KEY,
    cwd         TEXT NOT NULL,
    title       TEXT NOT NULL,
    model       TEXT NOT NULL,
    state       TEXT NOT NULL,
    asking      INTEGER NOT NULL,
    cost_tokens INTEGER NOT NULL,
    cost_micros INTEGER NOT NULL,
    priced      INTEGER NOT NULL,
    owner_pid   INTEGER,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    stamp       TEXT NOT NULL DEFAULT '',
    last_task   INTEGER NOT NULL DEFAULT 0,
    task_states TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_newest ON sessions (updated_at DESC, id DESC);
CREATE INDEX sessions_newest_of_folder ON sessions (cwd, updated_at DESC, id DESC);
CREATE INDEX sessions_owned ON sessions (id, owner_pid);

-- What each session spent, so that sums need no session's file.
CREATE TABLE spendings (
    session     TEXT NOT NULL,
    task        TEXT NOT NULL,
    path        TEXT NOT NULL,
    agent       TEXT NOT NULL,
    asked       TEXT NOT NULL,
    answered    TEXT,
    turns       INTEGER NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    cost_tokens INTEGER NOT NULL,
    cost_micros INTEGER NOT NULL,
    lost_tokens INTEGER NOT NULL,
    lost_micros INTEGER NOT NULL,
    priced      INTEGER NOT NULL,
    first_at    INTEGER NOT NULL,
    last_at     INTEGER NOT NULL
) STRICT;

CREATE INDEX spendings_of_session ON spendings (session);

-- Which session a task is of.
CREATE TABLE session_tasks (
    task    TEXT NOT NULL,
    session TEXT NOT NULL,
    PRIMARY KEY (task, session)
) STRICT, WITHOUT ROWID;

CREATE INDEX session_tasks_of_session ON session_tasks (session);
