-- The whole record of a task: who performs it and how, what was asked of it, and when what happened. Mail has receipts,
-- turns have ends, and whoever left a command can read what became of it.
ALTER TABLE bosun_tasks ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE bosun_tasks ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
ALTER TABLE bosun_tasks ADD COLUMN mode TEXT NOT NULL DEFAULT '"background"';
ALTER TABLE bosun_tasks ADD COLUMN model TEXT;
ALTER TABLE bosun_tasks ADD COLUMN reported TEXT;
ALTER TABLE bosun_tasks ADD COLUMN effort TEXT;
ALTER TABLE bosun_tasks ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0;
ALTER TABLE bosun_tasks ADD COLUMN stalled_at INTEGER;
ALTER TABLE bosun_tasks ADD COLUMN cancel TEXT;
ALTER TABLE bosun_tasks ADD COLUMN unread INTEGER NOT NULL DEFAULT 0;
ALTER TABLE bosun_tasks ADD COLUMN changes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE bosun_tasks ADD COLUMN commands INTEGER NOT NULL DEFAULT 0;
ALTER TABLE bosun_tasks ADD COLUMN queued_at INTEGER;
ALTER TABLE bosun_tasks ADD COLUMN started_at INTEGER;
ALTER TABLE bosun_tasks ADD COLUMN ended_at INTEGER;
ALTER TABLE bosun_tasks ADD COLUMN finished INTEGER NOT NULL DEFAULT 0;
ALTER TABLE bosun_tasks ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0;
ALTER TABLE bosun_mail ADD COLUMN moved_at INTEGER;
CREATE INDEX bosun_mail_of_task ON bosun_mail (task, mail);
ALTER TABLE bosun_turns ADD COLUMN ended_at INTEGER;
ALTER TABLE bosun_commands ADD COLUMN fate TEXT;

UPDATE bosun_tasks SET name = log.name, mode = log.mode, model = log.model, effort = log.effort,
                       depth = length(path) - length(replace(path, '/', '')) - 1,
                       finished = state ->> '$.type' = 'finished'
FROM (
    SELECT task, body ->> '$.name' AS name, body -> '$.mode' AS mode, nullif(body -> '$.model', 'null') AS model,
           nullif(body -> '$.effort', 'null') AS effort
    FROM bosun_events WHERE type = 'taskCreated'
) AS log
WHERE id = log.task;

UPDATE bosun_tasks SET mode = '"background"' WHERE id IN (SELECT task FROM bosun_events WHERE type = 'taskPromoted');

UPDATE bosun_tasks SET forgotten = 1 WHERE id IN (SELECT task FROM bosun_events WHERE type = 'taskForgotten');

UPDATE bosun_tasks SET queued_at = log.at
FROM (SELECT task, at, max(seq) FROM bosun_events WHERE type IN ('taskCreated', 'taskRequeued') GROUP BY task) AS log
WHERE id = log.task AND state ->> '$.type' = 'queued';

-- The last row of a group is the one with its greatest number.
UPDATE bosun_tasks SET attempt = log.attempt
FROM (
    SELECT task, body ->> '$.attempt' AS attempt, max(seq) FROM bosun_events WHERE type = 'activationStarted' GROUP BY task
) AS log
WHERE id = log.task;

UPDATE bosun_tasks SET started_at = log.at
FROM (
    SELECT task, at, max(seq) FROM bosun_events
    WHERE type = 'activationStarted' AND body ->> '$.attempt' = 1 GROUP BY task
) AS log
WHERE id = log.task;

UPDATE bosun_tasks SET ended_at = log.at
FROM (
    SELECT task, at, type, max(seq) FROM bosun_events
    WHERE type IN ('activationStarted', 'activationEnded', 'taskFinished') GROUP BY task
) AS log
WHERE id = log.task AND log.type <> 'activationStarted';

UPDATE bosun_tasks SET cancel = log.cancel
FROM (
    SELECT task, type, max(seq),
           json_object('by', body ->> '$.by', 'how', body ->> '$.how', 'untilAt', body ->> '$.untilAt') AS cancel
    FROM bosun_events
    WHERE type = 'cancelRequested' OR type = 'activationStarted' AND body ->> '$.attempt' = 1 GROUP BY task
) AS log
WHERE id = log.task AND log.type = 'cancelRequested';

UPDATE bosun_tasks SET stalled_at = log.since
FROM (
    SELECT task, type, body ->> '$.sinceAt' AS since, max(seq) FROM bosun_events
    WHERE type IN ('taskStalled', 'taskStirred', 'activationStarted', 'activationEnded', 'taskInterrupted',
                   'taskParked', 'taskRequeued', 'taskFinished')
    GROUP BY task
) AS log
WHERE id = log.task AND log.type = 'taskStalled';

UPDATE bosun_tasks SET reported = log.model
FROM (
    SELECT task, body ->> '$.model' AS model, max(seq) FROM bosun_events WHERE type = 'turnAnswered' GROUP BY task
) AS log
WHERE id = log.task;

UPDATE bosun_tasks SET changes = log.changes, commands = log.commands
FROM (
    SELECT task, sum(piece.value ->> '$.type' = 'changed') AS changes, sum(piece.value ->> '$.type' = 'ran') AS commands
    FROM bosun_events, json_each(body, '$.evidence') AS piece WHERE bosun_events.type = 'callAnswered' GROUP BY task
) AS log
WHERE id = log.task;

UPDATE bosun_tasks SET unread = (SELECT count(*) FROM bosun_mail WHERE task = bosun_tasks.id AND state = 'admitted');

UPDATE bosun_mail SET moved_at = log.at
FROM (
    SELECT piece.value AS mail, at FROM bosun_events, json_each(body, '$.mail') AS piece
    WHERE bosun_events.type IN ('mailDelivered', 'mailExpired')
) AS log
WHERE bosun_mail.mail = log.mail;

UPDATE bosun_turns SET ended_at = log.at
FROM (
    SELECT task, body ->> '$.turn' AS turn, at, max(seq) FROM bosun_events
    WHERE type IN ('turnAnswered', 'turnFailed') GROUP BY 1, 2
) AS log
WHERE bosun_turns.task = log.task AND bosun_turns.turn = log.turn;
