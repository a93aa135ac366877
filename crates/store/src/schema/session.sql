-- A session's file.
CREATE TABLE bosun_meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row: the process that may write. `held` is 0 after a clean end; the fence only ever grows.
CREATE TABLE bosun_lease (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    fence    INTEGER NOT NULL,
    boot     TEXT NOT NULL,
    pid      INTEGER NOT NULL,
    started  INTEGER NOT NULL,
    held     INTEGER NOT NULL,
    taken_at INTEGER NOT NULL
) STRICT;

CREATE TABLE bosun_events (
    seq  INTEGER PRIMARY KEY,
    v    INTEGER NOT NULL,
    at   INTEGER NOT NULL,
    task TEXT NOT NULL,
    type TEXT NOT NULL AS (body ->> '$.type') VIRTUAL,
    body TEXT NOT NULL
) STRICT;

CREATE INDEX bosun_events_of_task ON bosun_events (task, seq);

CREATE TABLE bosun_tasks (
    row          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    parent       TEXT,
    kind         TEXT NOT NULL,
    agent        TEXT NOT NULL,
    path         TEXT NOT NULL,
    description  TEXT NOT NULL,
    state        TEXT NOT NULL,
    activation   INTEGER NOT NULL DEFAULT 0,
    last_outcome TEXT,
    intent       TEXT,
    progress     TEXT,
    external     TEXT,
    mcp          TEXT,
    result       TEXT,
    turns        INTEGER NOT NULL DEFAULT 0,
    input        INTEGER NOT NULL DEFAULT 0,
    output       INTEGER NOT NULL DEFAULT 0,
    cache_read   INTEGER NOT NULL DEFAULT 0,
    cache_write  INTEGER NOT NULL DEFAULT 0,
    cost_tokens  INTEGER NOT NULL DEFAULT 0,
    cost_micros  INTEGER NOT NULL DEFAULT 0,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    name         TEXT NOT NULL DEFAULT '',
    depth        INTEGER NOT NULL DEFAULT 0,
    mode         TEXT NOT NULL DEFAULT '"background"',
    model        TEXT,
    reported_model TEXT,
    effort       TEXT,
    attempt      INTEGER NOT NULL DEFAULT 0,
    stalled_at   INTEGER,
    cancel       TEXT,
    unread       INTEGER NOT NULL DEFAULT 0,
    changes      INTEGER NOT NULL DEFAULT 0,
    commands     INTEGER NOT NULL DEFAULT 0,
    queued_at    INTEGER,
    started_at   INTEGER,
    ended_at     INTEGER,
    finished     INTEGER NOT NULL DEFAULT 0,
    forgotten    INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE bosun_mail (
    mail     INTEGER PRIMARY KEY,
    task     TEXT NOT NULL,
    sender   TEXT NOT NULL,
    delivery TEXT NOT NULL,
    body     TEXT NOT NULL,
    state    TEXT NOT NULL CHECK (state IN ('admitted', 'delivered', 'expired')),
    at       INTEGER NOT NULL,
    moved_at INTEGER
) STRICT;

CREATE INDEX bosun_mail_of_task ON bosun_mail (task, mail);

CREATE TABLE bosun_turns (
    task        TEXT NOT NULL,
    turn        INTEGER NOT NULL,
    activation  INTEGER NOT NULL,
    requested_model TEXT NOT NULL,
    input       INTEGER NOT NULL DEFAULT 0,
    output      INTEGER NOT NULL DEFAULT 0,
    cache_read  INTEGER NOT NULL DEFAULT 0,
    cache_write INTEGER NOT NULL DEFAULT 0,
    cost_tokens INTEGER NOT NULL DEFAULT 0,
    cost_micros INTEGER NOT NULL DEFAULT 0,
    begun_at    INTEGER NOT NULL,
    reported_model TEXT,
    priced      INTEGER NOT NULL DEFAULT 0,
    lost_tokens INTEGER NOT NULL DEFAULT 0,
    lost_micros INTEGER NOT NULL DEFAULT 0,
    ended_at    INTEGER,
    PRIMARY KEY (task, turn)
) STRICT, WITHOUT ROWID;

-- The tasks that spent something without a known price.
CREATE TABLE bosun_unpriced (task TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

-- Commands from other processes to the owner.
CREATE TABLE bosun_commands (
    id         INTEGER PRIMARY KEY,
    at         INTEGER NOT NULL,
    body       TEXT NOT NULL,
    applied_at INTEGER,
    outcome    TEXT
) STRICT;

CREATE INDEX bosun_commands_pending ON bosun_commands (id) WHERE applied_at IS NULL;

-- Asks that wait for a decision, and decided ones.
CREATE TABLE bosun_asks (
    row      INTEGER PRIMARY KEY,
    id       TEXT NOT NULL,
    task     TEXT NOT NULL,
    call     TEXT NOT NULL,
    body     TEXT NOT NULL,
    state    TEXT NOT NULL,
    open     INTEGER NOT NULL DEFAULT 1,
    asked_at INTEGER NOT NULL
) STRICT;

CREATE INDEX bosun_asks_open ON bosun_asks (task, call) WHERE open;

-- Todos that were changed since the runtime last read them, with the author if it was an agent.
CREATE TABLE bosun_todo_log (
    n      INTEGER PRIMARY KEY AUTOINCREMENT,
    todo   TEXT NOT NULL,
    author TEXT
) STRICT;

CREATE INDEX bosun_todo_log_of_todo ON bosun_todo_log (todo, n);

-- A list that agents and people share.
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

-- The model's own tables begin here.
CREATE TABLE todos (
    id          TEXT PRIMARY KEY,
    title       TEXT NOT NULL,
    description TEXT,
    status      TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'in_progress', 'done', 'blocked')),
    created_at  TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
    updated_at  TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
    agent_type  TEXT,
    model       TEXT,
    files       TEXT,
    check_command TEXT,
    expects     TEXT,
    reason      TEXT,
    task        TEXT,
    attempts    INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE todo_deps (
    todo_id    TEXT NOT NULL REFERENCES todos (id) ON DELETE CASCADE,
    depends_on TEXT NOT NULL REFERENCES todos (id) ON DELETE CASCADE,
    PRIMARY KEY (todo_id, depends_on)
);

CREATE TRIGGER bosun_todo_made AFTER INSERT ON todos
BEGIN INSERT INTO bosun_todo_log (todo) VALUES (new.id); END;
CREATE TRIGGER bosun_todo_changed AFTER UPDATE ON todos
BEGIN INSERT INTO bosun_todo_log (todo) VALUES (old.id), (new.id); END;
CREATE TRIGGER bosun_todo_gone AFTER DELETE ON todos
BEGIN INSERT INTO bosun_todo_log (todo) VALUES (old.id); END;
CREATE TRIGGER bosun_dep_made AFTER INSERT ON todo_deps
BEGIN INSERT INTO bosun_todo_log (todo) VALUES (new.todo_id); END;
CREATE TRIGGER bosun_dep_changed AFTER UPDATE ON todo_deps
BEGIN INSERT INTO bosun_todo_log (todo) VALUES (old.todo_id), (new.todo_id); END;
CREATE TRIGGER bosun_dep_gone AFTER DELETE ON todo_deps
BEGIN INSERT INTO bosun_todo_log (todo) VALUES (old.todo_id); END;
