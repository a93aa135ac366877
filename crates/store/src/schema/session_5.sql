-- What a fleet needs to know of a todo, and who changed which: the runtime reads the log and then empties it. A list of
-- items that agents and people share.
ALTER TABLE todos ADD COLUMN agent_type TEXT;
ALTER TABLE todos ADD COLUMN model TEXT;
ALTER TABLE todos ADD COLUMN files TEXT;
ALTER TABLE todos ADD COLUMN check_command TEXT;
ALTER TABLE todos ADD COLUMN expects TEXT;
ALTER TABLE todos ADD COLUMN reason TEXT;
ALTER TABLE todos ADD COLUMN task TEXT;
ALTER TABLE todos ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;

CREATE TABLE bosun_todo_log (
    n      INTEGER PRIMARY KEY AUTOINCREMENT,
    todo   TEXT NOT NULL,
    author TEXT
) STRICT;

CREATE INDEX bosun_todo_log_of_todo ON bosun_todo_log (todo, n);

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

-- What was planned before there was a log.
INSERT INTO bosun_todo_log (todo) SELECT id FROM todos;

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
