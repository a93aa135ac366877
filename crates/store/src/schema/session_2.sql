-- What was asked and what answered, whether it has a price, and what tries without an answer are counted as.
ALTER TABLE bosun_turns RENAME COLUMN model TO asked;
ALTER TABLE bosun_turns ADD COLUMN answered TEXT;
ALTER TABLE bosun_turns ADD COLUMN priced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE bosun_turns ADD COLUMN lost_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE bosun_turns ADD COLUMN lost_micros INTEGER NOT NULL DEFAULT 0;

UPDATE bosun_turns SET answered = log.model
FROM (
    SELECT task, body ->> '$.turn' AS turn, body ->> '$.model' AS model
    FROM bosun_events WHERE type = 'turnAnswered'
) AS log
WHERE bosun_turns.task = log.task AND bosun_turns.turn = log.turn;

UPDATE bosun_turns SET asked = log.model
FROM (
    SELECT task, body ->> '$.turn' AS turn, body ->> '$.model' AS model, max(seq)
    FROM bosun_events WHERE type = 'turnBegun' GROUP BY 1, 2
) AS log
WHERE bosun_turns.task = log.task AND bosun_turns.turn = log.turn AND log.model IS NOT NULL;

UPDATE bosun_turns SET priced = log.priced
FROM (
    SELECT task, body ->> '$.turn' AS turn, min(body ->> '$.price' IS NOT NULL) AS priced
    FROM bosun_events WHERE type = 'turnBegun' GROUP BY 1, 2
) AS log
WHERE bosun_turns.task = log.task AND bosun_turns.turn = log.turn;

-- No count is above what the writer lets a column hold.
UPDATE bosun_turns SET lost_tokens = log.tokens, lost_micros = log.micros
FROM (
    SELECT task, body ->> '$.turn' AS turn,
           CAST(total(min(body ->> '$.cost.tokens', 1 << 48)) AS INTEGER) AS tokens,
           CAST(total(min(body ->> '$.cost.micros', 1 << 48)) AS INTEGER) AS micros
    FROM bosun_events WHERE type = 'turnFailed' GROUP BY 1, 2
) AS log
WHERE bosun_turns.task = log.task AND bosun_turns.turn = log.turn;
