-- What todos of fleets brought, by what they were done with.
CREATE TABLE fleet_results (
    project TEXT NOT NULL,
    key     TEXT NOT NULL,
    todo    TEXT NOT NULL,
    before  TEXT NOT NULL,
    after   TEXT,
    result  TEXT NOT NULL,
    work    TEXT,
    at      INTEGER NOT NULL,
    PRIMARY KEY (project, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX fleet_results_by_todo ON fleet_results (project, todo);
