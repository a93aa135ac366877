//! The form of each kind of file, and the steps from each older form to today's.
//!
//! `user_version` counts the steps a file has taken; `application_id` says which kind of file it is.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::StoreError;
use crate::error::fault;

/// A session's file.
pub(crate) const SESSION: Schema = Schema {
    application_id: 0x424F_5331,
    // Altering tables again and again would be half of what it takes to begin a session.
    fresh: &[include_str!("session.sql")],
    steps: &[
        include_str!("session_1.sql"),
        include_str!("session_2.sql"),
        include_str!("session_3.sql"),
        include_str!("session_4.sql"),
        include_str!("session_5.sql"),
        include_str!("session_6.sql"),
    ],
};

/// The index of sessions, the buckets, and the trusted projects.
pub(crate) const INDEX: Schema = Schema { application_id: 0x424F_5349, fresh: INDEX_STEPS, steps: INDEX_STEPS };

const INDEX_STEPS: &[&str] = &[
    include_str!("index_1.sql"),
    include_str!("index_2.sql"),
    include_str!("index_3.sql"),
    include_str!("index_4.sql"),
    include_str!("index_5.sql"),
    include_str!("index_6.sql"),
];

/// One kind of file.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) application_id: i64,
    /// What makes an empty file one of today.
    fresh: &'static [&'static str],
    /// What makes each older form the next one.
    steps: &'static [&'static str],
}

/// How a file's form relates to today's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Nothing was ever written to it.
    Empty,
    /// An older version wrote it.
    Older,
    /// It is as this version writes it.
    Current,
}

impl Schema {
    /// Looks at what kind of file it is and which steps it has taken.
    pub(crate) fn form(&self, conn: &Connection, path: &Path) -> Result<Form, StoreError> {
        let number = |pragma| conn.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).map_err(fault(path));
        match (number("application_id")?, number("user_version")?) {
            (0, 0) => Ok(Form::Empty),
            (id, _) if id != self.application_id => {
                Err(StoreError::Corrupt { path: path.into(), detail: "it is another program's database".into() })
            }
            (_, taken) if taken > self.known() => {
                Err(StoreError::Newer { path: path.into(), found: short(taken), known: short(self.known()) })
            }
            (_, taken) if taken < self.known() => Ok(Form::Older),
            _ => Ok(Form::Current),
        }
    }

    /// Fails unless the file is in today's form.
    pub(crate) fn require(&self, conn: &Connection, path: &Path) -> Result<(), StoreError> {
        match self.form(conn, path)? {
            Form::Current => Ok(()),
            Form::Empty => Err(StoreError::Corrupt { path: path.into(), detail: "it is empty".into() }),
            Form::Older => Err(StoreError::Older { path: path.into() }),
        }
    }

    /// Takes the steps that are missing, all or none; a file that a newer version has brought further meanwhile stays
    /// as it is. The caller holds the file's lock.
    pub(crate) fn migrate(&self, conn: &mut Connection, path: &Path) -> Result<(), StoreError> {
        self.take_steps(conn).map_err(fault(path))
    }

    fn take_steps(&self, conn: &mut Connection) -> rusqlite::Result<()> {
        conn.pragma_update(None, "journal_mode", "WAL")?;
        let change = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let taken: usize = change.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if taken > self.steps.len() {
            return Ok(());
        }
        let missing = if taken == 0 { self.fresh } else { self.steps.get(taken..).unwrap_or_default() };
        missing.iter().try_for_each(|step| change.execute_batch(step))?;
        change.pragma_update(None, "application_id", self.application_id)?;
        change.pragma_update(None, "user_version", self.known())?;
        change.commit()
    }

    /// How many steps a file of today has taken.
    pub(crate) fn known(&self) -> i64 {
        i64::try_from(self.steps.len()).unwrap_or(i64::MAX)
    }
}

fn short(version: i64) -> u32 {
    u32::try_from(version).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect;

    const MAKE: &str = "CREATE TABLE a (x); INSERT INTO a VALUES (1)";
    const ONE: Schema = Schema { application_id: 7, fresh: &[MAKE], steps: &[MAKE] };
    const TWO: Schema = Schema { steps: &[MAKE, "ALTER TABLE a ADD COLUMN y DEFAULT 2"], ..ONE };
    const BROKEN: Schema = Schema { steps: &[MAKE, "CREATE TABLE b (x); CREATE TABLE a (x)"], ..ONE };

    /// Tables with their columns, keys and checks, and indexes: what a file holds, however it came about.
    const SHAPE: &str = "
        SELECT 'table', name, type, wr || strict, ncol FROM pragma_table_list WHERE schema = 'main'
        UNION ALL
        SELECT t.name, c.name, c.type || c.hidden, c.\"notnull\" || c.pk, c.cid || coalesce(c.dflt_value, '')
        FROM pragma_table_list AS t, pragma_table_xinfo(t.name) AS c WHERE t.schema = 'main'
        UNION ALL
        SELECT 'foreign', t.name, f.\"table\" || f.\"from\", f.\"to\" || f.on_delete, ''
        FROM pragma_table_list AS t, pragma_foreign_key_list(t.name) AS f WHERE t.schema = 'main'
        UNION ALL
        SELECT 'index', name, tbl_name, coalesce(sql, ''), '' FROM sqlite_schema WHERE type <> 'table'
        UNION ALL
        SELECT 'check', name, substr(part, 1, instr(part, char(10))), '', ''
        FROM (SELECT name, substr(sql, instr(sql, 'CHECK')) AS part FROM sqlite_schema WHERE sql LIKE '%CHECK%')
        ORDER BY 1, 2, 3, 4, 5";

    fn shape(schema: &Schema) -> Vec<[String; 5]> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let mut conn = connect::create(&path).unwrap();
        schema.migrate(&mut conn, &path).unwrap();
        let text =
            |row: &rusqlite::Row<'_>, n| row.get::<_, rusqlite::types::Value>(n).map(|value| format!("{value:?}"));
        let mut select = conn.prepare(SHAPE).unwrap();
        let rows =
            select.query_map([], |row| Ok([text(row, 0)?, text(row, 1)?, text(row, 2)?, text(row, 3)?, text(row, 4)?]));
        rows.unwrap().collect::<rusqlite::Result<_>>().unwrap()
    }

    #[test]
    fn a_fresh_file_is_what_the_steps_lead_to() {
        let stepped = shape(&Schema { fresh: SESSION.steps, ..SESSION });
        assert!(stepped.len() > 80, "{stepped:#?}");
        assert_eq!(shape(&SESSION), stepped);
    }

    #[test]
    fn a_file_takes_the_steps_it_is_missing_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let mut conn = connect::create(&path).unwrap();
        assert_eq!(ONE.form(&conn, &path), Ok(Form::Empty));
        ONE.migrate(&mut conn, &path).unwrap();
        assert_eq!(ONE.form(&conn, &path), Ok(Form::Current));
        assert_eq!(TWO.form(&conn, &path), Ok(Form::Older));
        assert_eq!(TWO.require(&conn, &path), Err(StoreError::Older { path: path.clone() }));
        TWO.migrate(&mut conn, &path).unwrap();
        TWO.migrate(&mut conn, &path).unwrap();
        let sum: i64 = conn.query_row("SELECT sum(x + y) FROM a", [], |row| row.get(0)).unwrap();
        assert_eq!((TWO.form(&conn, &path), sum), (Ok(Form::Current), 3));
        ONE.migrate(&mut conn, &path).unwrap();
        assert_eq!(ONE.form(&conn, &path), Err(StoreError::Newer { path, found: 2, known: 1 }));
    }

    #[test]
    fn a_step_that_fails_leaves_the_file_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let mut conn = connect::create(&path).unwrap();
        ONE.migrate(&mut conn, &path).unwrap();
        assert!(BROKEN.migrate(&mut conn, &path).is_err());
        assert_eq!(ONE.form(&conn, &path), Ok(Form::Current));
        assert!(conn.prepare("SELECT * FROM b").is_err());
    }
}
