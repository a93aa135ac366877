-- What waits for a person's decision, and what was decided.
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
