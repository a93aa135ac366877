//! The index of sessions, `bosun.db`: a cache of the session files, so that listing sessions does not open each file;
//! `reconcile.rs` keeps it up to date. A lost index is rebuilt from the session folders. Data that is stored nowhere
//! else (project and team lists, trusted projects) has a backup, and readable lists are also recovered from a damaged
//! index.

use std::fs;
use std::path::{Path, PathBuf};

use host::Home;
use protocol::api::SessionView;
use protocol::{Cost, SessionId, Timestamp};
use rusqlite::{Connection, Row, TransactionBehavior, params};

use crate::backup::RestoredCounts;
use crate::error::{companion_path, io_error, sqlite_error, unreadable};
use crate::lists::recover_lists;
use crate::schema::{INDEX, SchemaStatus};
use crate::summary::SessionFileStamp;
use crate::{IndexRebuild, StoreError, backup, connect, index_rebuild};

/// The index of sessions.
#[derive(Debug)]
pub struct SessionIndex {
    path: PathBuf,
    conn: Connection,
}

/// A session's row in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// The session.
    pub id: SessionId,
    /// The folder it works in.
    pub cwd: String,
    /// The beginning of its first prompt.
    pub title: String,
    /// Its default model.
    pub model: String,
    /// When it began.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Its root's state in one word; `damaged`, `newer` or `unreadable` if its file cannot be read.
    pub state: String,
    /// Whether it has open asks.
    pub has_open_asks: bool,
    /// What it spent.
    pub spent: Cost,
    /// Whether the price of everything it spent is known.
    pub priced: bool,
    /// The process that ran it when its file was read.
    pub owner_pid: Option<u32>,
}

impl From<&SessionView> for SessionRow {
    fn from(view: &SessionView) -> SessionRow {
        SessionRow {
            id: view.id,
            cwd: view.cwd.clone(),
            title: view.title.clone(),
            model: view.model.clone(),
            created_at: view.created_at,
            updated_at: view.updated_at,
            state: view.state.as_str().to_owned(),
            has_open_asks: false,
            spent: view.spent,
            priced: view.priced,
            owner_pid: view.owner_pid,
        }
    }
}

/// The sessions that a prefix of an id matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionMatch {
    /// Exactly one session.
    One(SessionRow),
    /// More than one, newest first.
    Many(Vec<SessionRow>),
    /// No session.
    NotFound,
}

impl SessionIndex {
    /// Opens the index. If it is missing or damaged, builds it from the session folders.
    pub fn open(home: &Home) -> Result<SessionIndex, StoreError> {
        match SessionIndex::open_current(home) {
            Ok(Some(index)) => Ok(index),
            Ok(None) | Err(StoreError::Corrupt { .. }) => {
                let _lock = lock(home)?;
                SessionIndex::create_or_open(home)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads all session files again, after moving a damaged index aside.
    pub fn rebuild(home: &Home) -> Result<SessionIndex, StoreError> {
        let _lock = lock(home)?;
        if let Ok(Some(index)) = SessionIndex::open_current(home) {
            match index.check_integrity() {
                Ok(()) => return index.record_all_sessions(home),
                Err(StoreError::Corrupt { detail, .. }) => {
                    drop(index);
                    return SessionIndex::replace(home, detail);
                }
                Err(error) => return Err(error),
            }
        }
        SessionIndex::create_or_open(home)
    }

    /// Inserts or updates a session's row.
    pub fn upsert(&self, row: &SessionRow) -> Result<(), StoreError> {
        self.change(|conn| put_row(conn, row, &SessionFileStamp(String::new())))
    }

    /// Removes a session from the index.
    pub fn remove(&self, id: SessionId) -> Result<(), StoreError> {
        self.change(|conn| delete_session(conn, id))
    }

    /// The sessions of a folder, or all of them, newest first.
    pub fn list(&self, cwd: Option<&str>) -> Result<Vec<SessionRow>, StoreError> {
        self.rows("WHERE ?1 IS NULL OR cwd = ?1", &cwd)
    }

    /// Finds the session whose id begins with `prefix`, with or without its `ses-`.
    pub fn find(&self, prefix: &str) -> Result<SessionMatch, StoreError> {
        let prefix = prefix.to_ascii_lowercase();
        // A prefix of `ses-` itself matches every id.
        let bare = if "ses-".starts_with(&prefix) { "" } else { prefix.strip_prefix("ses-").unwrap_or(&prefix) };
        let mut rows = self.rows("WHERE substr(id, 5, length(?1)) = ?1", &bare)?;
        Ok(match (rows.pop(), rows.is_empty()) {
            (None, _) => SessionMatch::NotFound,
            (Some(row), true) => SessionMatch::One(row),
            (Some(row), false) => {
                rows.push(row);
                SessionMatch::Many(rows)
            }
        })
    }

    /// The connection to the file, whose schema is current.
    pub(crate) fn into_connection(self) -> Connection {
        self.conn
    }

    fn rows(&self, condition: &str, value: &dyn rusqlite::ToSql) -> Result<Vec<SessionRow>, StoreError> {
        self.query(|conn| {
            conn.prepare_cached(&format!("SELECT * FROM sessions {condition} ORDER BY updated_at DESC, id DESC"))?
                .query_map([value], session_row)?
                .collect()
        })
    }

    pub(crate) fn query<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        query(&self.conn).map_err(sqlite_error(&self.path))
    }

    /// Changes the index in a transaction that takes the write lock at its start; SQLite does not wait for a lock
    /// later.
    pub(crate) fn change(&self, edit: impl FnOnce(&Connection) -> rusqlite::Result<()>) -> Result<(), StoreError> {
        let apply = || -> rusqlite::Result<()> {
            let transaction = rusqlite::Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate)?;
            edit(&transaction)?;
            transaction.commit()
        };
        apply().map_err(sqlite_error(&self.path))
    }

    /// Opens the index if it exists and its schema is current.
    fn open_current(home: &Home) -> Result<Option<SessionIndex>, StoreError> {
        let path = home.index_db();
        if !path.exists() {
            return Ok(None);
        }
        let conn = connect::open_writable(&path)?;
        let status = INDEX.status(&conn, &path)?;
        Ok((status == SchemaStatus::Current).then_some(SessionIndex { path, conn }))
    }

    /// A copy of the index in memory, which can be changed even if the file cannot.
    pub(crate) fn open_copy(home: &Home) -> Result<SessionIndex, StoreError> {
        let path = home.index_db();
        let mut conn = connect::open_in_memory(&path)?;
        let is_current = INDEX.status(&conn, &path)? == SchemaStatus::Current;
        INDEX.migrate(&mut conn, &path)?;
        let index = SessionIndex { path, conn };
        if is_current { Ok(index) } else { index.record_all_sessions(home) }
    }

    /// Creates the index or migrates it. The caller holds the lock; another process may have done it while this one
    /// waited.
    fn create_or_open(home: &Home) -> Result<SessionIndex, StoreError> {
        match SessionIndex::open_current(home) {
            Ok(Some(index)) => Ok(index),
            Ok(None) => SessionIndex::create_or_migrate(home, None),
            Err(StoreError::Corrupt { detail, .. }) => SessionIndex::replace(home, detail),
            Err(error) => Err(error),
        }
    }

    /// Moves a damaged file aside and creates a new one.
    fn replace(home: &Home, detail: String) -> Result<SessionIndex, StoreError> {
        let damaged = move_aside(&home.index_db())?;
        SessionIndex::create_or_migrate(home, Some((detail, damaged)))
    }

    /// Creates or migrates the file. Recovers the lists of a damaged file that was moved aside and, if there was no
    /// file, restores the backup.
    fn create_or_migrate(home: &Home, damaged: Option<(String, PathBuf)>) -> Result<SessionIndex, StoreError> {
        let path = home.index_db();
        let is_older = path.exists();
        let mut conn = if is_older { connect::open_writable(&path)? } else { connect::create(&path)? };
        INDEX.migrate(&mut conn, &path)?;
        if let Some((_, damaged)) = &damaged {
            recover_lists(damaged, &conn).map_err(sqlite_error(&path))?;
        }
        let restored = if is_older {
            RestoredCounts::default()
        } else {
            backup::restore(home, &conn).map_err(sqlite_error(&path))?
        };
        let index = SessionIndex { path, conn }.record_all_sessions(home)?;
        if damaged.is_some() || restored != RestoredCounts::default() {
            index.report_rebuild(damaged)?;
        }
        Ok(index)
    }

    /// Reports a rebuild.
    fn report_rebuild(&self, damaged: Option<(String, PathBuf)>) -> Result<(), StoreError> {
        let count = |rows: &str| {
            self.query(|conn| conn.query_row(&format!("SELECT count(*) FROM {rows}"), [], |row| row.get(0)))
        };
        index_rebuild::report(IndexRebuild {
            path: self.path.clone(),
            damaged,
            sessions: count("sessions")?,
            items: count("bosun_items WHERE status <> 'deleted'")?,
            trusted: count("trust")?,
        });
        Ok(())
    }

    /// Adds all sessions.
    fn record_all_sessions(self, home: &Home) -> Result<SessionIndex, StoreError> {
        self.record_sessions(home, &session_folders(home)?)?;
        Ok(self)
    }

    fn check_integrity(&self) -> Result<(), StoreError> {
        let result = self.conn.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        match result.map_err(sqlite_error(&self.path))? {
            text if text == "ok" => Ok(()),
            detail => Err(StoreError::Corrupt { path: self.path.clone(), detail }),
        }
    }
}

fn lock(home: &Home) -> Result<host::FileLock, StoreError> {
    home.lock("index").map_err(|error| StoreError::Home(error.to_string()))
}

/// All sessions that have a folder.
pub(crate) fn session_folders(home: &Home) -> Result<Vec<SessionId>, StoreError> {
    let folder = home.sessions_dir();
    let names = fs::read_dir(&folder).map_err(io_error(&folder))?.flatten();
    Ok(names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// Renames a damaged file together with its companion files.
fn move_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let free = (1..).map(|n| companion_path(path, &format!(".damaged-{n}"))).find(|aside| !aside.exists());
    let aside = free.unwrap_or_else(|| companion_path(path, ".damaged"));
    for suffix in ["-wal", "-shm", ""] {
        let file = companion_path(path, suffix);
        if file.exists() {
            fs::rename(&file, companion_path(&aside, suffix)).map_err(io_error(&file))?;
        }
    }
    Ok(aside)
}

/// Writes a session's row, read from the file with this stamp.
pub(crate) fn put_row(conn: &Connection, row: &SessionRow, stamp: &SessionFileStamp) -> rusqlite::Result<()> {
    let SessionRow { id, cwd, title, model, created_at, updated_at, state, has_open_asks, spent, priced, owner_pid } =
        row;
    conn.prepare_cached(
        "INSERT INTO sessions (id, cwd, title, model, state, has_open_asks, cost_tokens, cost_micros, priced, owner_pid,
                               created_at, updated_at, stamp)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
         ON CONFLICT DO UPDATE SET cwd = excluded.cwd, title = excluded.title, model = excluded.model,
             state = excluded.state, has_open_asks = excluded.has_open_asks, cost_tokens = excluded.cost_tokens,
             cost_micros = excluded.cost_micros, priced = excluded.priced, owner_pid = excluded.owner_pid,
             created_at = excluded.created_at, updated_at = excluded.updated_at, stamp = excluded.stamp",
    )?
    .execute(params![
        id.to_string(),
        cwd,
        title,
        model,
        state,
        has_open_asks,
        spent.tokens,
        spent.micros,
        priced,
        owner_pid,
        created_at.0,
        updated_at.0,
        stamp.0
    ])?;
    Ok(())
}

/// Removes a session from all tables.
pub(crate) fn delete_session(conn: &Connection, id: SessionId) -> rusqlite::Result<()> {
    for table in ["sessions WHERE id", "spendings WHERE session", "session_tasks WHERE session"] {
        conn.prepare_cached(&format!("DELETE FROM {table} = ?1"))?.execute([id.to_string()])?;
    }
    Ok(())
}

pub(crate) fn session_row(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        id: row.get::<_, String>("id")?.parse().map_err(unreadable)?,
        cwd: row.get("cwd")?,
        title: row.get("title")?,
        model: row.get("model")?,
        created_at: Timestamp(row.get("created_at")?),
        updated_at: Timestamp(row.get("updated_at")?),
        state: row.get("state")?,
        has_open_asks: row.get("has_open_asks")?,
        spent: Cost { tokens: row.get("cost_tokens")?, micros: row.get("cost_micros")? },
        priced: row.get("priced")?,
        owner_pid: row.get("owner_pid")?,
    })
}
