-- The index of sessions, and data that sessions share.

-- A session's row was read from its file with this stamp; it is read again when the stamp differs.
CREATE TABLE sessions (
    id            TEXT PRIMARY KEY,
    cwd           TEXT NOT NULL,
    title         TEXT NOT NULL,
    model         TEXT NOT NULL,
    state         TEXT NOT NULL,
    has_open_asks INTEGER NOT NULL,
    cost_tokens   INTEGER NOT NULL,
    cost_micros   INTEGER NOT NULL,
    priced        INTEGER NOT NULL,
    owner_pid     INTEGER,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    stamp         TEXT NOT NULL DEFAULT '',
    last_task     INTEGER NOT NULL DEFAULT 0,
    task_states   TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_newest ON sessions (updated_at DESC, id DESC);
CREATE INDEX sessions_newest_of_folder ON sessions (cwd, updated_at DESC, id DESC);
CREATE INDEX sessions_owned ON sessions (id, owner_pid);

-- What each session spent, so that sums do not need the session files.
CREATE TABLE spendings (
    session         TEXT NOT NULL,
    task            TEXT NOT NULL,
    path            TEXT NOT NULL,
    agent           TEXT NOT NULL,
    requested_model TEXT NOT NULL,
    reported_model  TEXT,
    turns           INTEGER NOT NULL,
    input           INTEGER NOT NULL,
    output          INTEGER NOT NULL,
    cache_read      INTEGER NOT NULL,
    cache_write     INTEGER NOT NULL,
    cost_tokens     INTEGER NOT NULL,
    cost_micros     INTEGER NOT NULL,
    lost_tokens     INTEGER NOT NULL,
    lost_micros     INTEGER NOT NULL,
    priced          INTEGER NOT NULL,
    first_at        INTEGER NOT NULL,
    last_at         INTEGER NOT NULL
) STRICT;

CREATE INDEX spendings_of_session ON spendings (session);

-- The session of each task.
CREATE TABLE session_tasks (
    task    TEXT NOT NULL,
    session TEXT NOT NULL,
    PRIMARY KEY (task, session)
) STRICT, WITHOUT ROWID;

CREATE INDEX session_tasks_of_session ON session_tasks (session);

-- What is known about each provider's limits.
CREATE TABLE buckets (
    key   TEXT PRIMARY KEY,
    state TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The projects that are trusted.
CREATE TABLE trust (
    top    TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Lists of a project or a team, which outlive sessions.
CREATE TABLE bosun_items (
    list       TEXT NOT NULL,
    id         INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    status     TEXT NOT NULL,
    body       TEXT NOT NULL,
    archived   INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (list, id)
) STRICT, WITHOUT ROWID;

-- The result cache of fleets.
CREATE TABLE fleet_results (
    project   TEXT NOT NULL,
    key       TEXT NOT NULL,
    todo      TEXT NOT NULL,
    before    TEXT NOT NULL,
    after     TEXT,
    result    TEXT NOT NULL,
    commit_id TEXT,
    at        INTEGER NOT NULL,
    PRIMARY KEY (project, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX fleet_results_by_todo ON fleet_results (project, todo);
