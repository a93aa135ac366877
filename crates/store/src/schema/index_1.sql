CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    cwd        TEXT NOT NULL,
    title      TEXT NOT NULL,
    model      TEXT NOT NULL,
    state      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_newest ON sessions (cwd, updated_at DESC);
