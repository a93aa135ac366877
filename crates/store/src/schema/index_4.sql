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
