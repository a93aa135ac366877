-- The tasks that spent something that has no known price.
CREATE TABLE bosun_unpriced (task TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

INSERT INTO bosun_unpriced SELECT DISTINCT task FROM bosun_turns WHERE priced = 0 AND cost_tokens > 0;
