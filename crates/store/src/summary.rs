//! Session summaries for the index, read from session files.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use host::Home;
use protocol::api::{AsksParams, SessionView};
use protocol::{SessionId, Timestamp};
use rusqlite::Connection;

use crate::error::companion_path;
use crate::turn_rows::{self, DatedSpending};
use crate::{SessionReader, SessionRow, StoreError, asks, task_records};

/// The size and modification time of a session's file and of its write-ahead log, when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionFileStamp(pub(crate) String);

impl SessionFileStamp {
    /// Reads the stamp of a file without opening it.
    pub(crate) fn of(db: &Path) -> SessionFileStamp {
        let describe = |path: &Path| {
            let file = fs::metadata(path).ok().filter(|file| file.len() > 0);
            file.map(|file| format!("{}@{}.{}", file.len(), file.mtime(), file.mtime_nsec())).unwrap_or_default()
        };
        SessionFileStamp(format!("{} {}", describe(db), describe(&companion_path(db, "-wal"))))
    }
}

/// What the index stores about a session.
#[derive(Debug)]
pub(crate) struct SessionSummary {
    pub(crate) row: SessionRow,
    pub(crate) spendings: Vec<DatedSpending>,
    /// The tasks that the index does not know yet.
    pub(crate) tasks: Vec<String>,
    /// The row number of the session's last task.
    pub(crate) last_task: i64,
    /// The states of its tasks, each with a space on both sides.
    pub(crate) task_states: String,
}

/// The result of reading a session's file.
#[derive(Debug)]
pub(crate) enum SummaryRead {
    /// The summary.
    Summary(Box<SessionSummary>),
    /// It has no events, or no longer exists.
    Absent,
    /// It cannot be read; holds the state to show.
    Unreadable(&'static str),
}

/// Reads a session's file, with its tasks after `last_task`. The stamp is read first, so that any later write makes
/// it differ.
pub(crate) fn read_session(home: &Home, id: SessionId, last_task: i64) -> (SessionFileStamp, SummaryRead) {
    let stamp = SessionFileStamp::of(&home.session_db(id));
    let read = SessionReader::open(home, id).and_then(|reader| reader.summary(last_task));
    (stamp, SummaryRead::from_result(read))
}

impl SummaryRead {
    fn from_result(summary: Result<Option<SessionSummary>, StoreError>) -> SummaryRead {
        match summary {
            Ok(Some(summary)) => SummaryRead::Summary(Box::new(summary)),
            Ok(None) | Err(StoreError::Missing { .. }) => SummaryRead::Absent,
            Err(StoreError::Corrupt { .. }) => SummaryRead::Unreadable("damaged"),
            Err(StoreError::Newer { .. }) => SummaryRead::Unreadable("newer"),
            Err(_other) => SummaryRead::Unreadable("unreadable"),
        }
    }
}

impl SessionReader {
    /// Like [`read`], through an open reader.
    pub(crate) fn read_summary(&self, last_task: i64) -> (SessionFileStamp, SummaryRead) {
        let stamp = SessionFileStamp::of(self.path());
        (stamp, SummaryRead::from_result(self.summary(last_task)))
    }

    /// A consistent summary of the session; none if it has no events.
    fn summary(&self, last_task: i64) -> Result<Option<SessionSummary>, StoreError> {
        self.query(|conn| {
            let view = crate::reader::session_view(conn, self.id())?;
            if view.events == 0 {
                return Ok(None);
            }
            let spendings = turn_rows::dated_spendings(conn, Timestamp(0))?;
            let (tasks, last_task) = tasks_after(conn, last_task)?;
            let task_states = task_records::states(conn)?.into_iter().map(|state| format!(" {state} ")).collect();
            Ok(Some(SessionSummary { row: row(conn, &view)?, spendings, tasks, last_task, task_states }))
        })
    }
}

/// The session's row in the index.
fn row(conn: &Connection, view: &SessionView) -> rusqlite::Result<SessionRow> {
    let open_asks = AsksParams { limit: Some(0), ..AsksParams::default() };
    let has_open_asks = asks::page(conn, view.id, &open_asks)?.total > 0;
    Ok(SessionRow { has_open_asks, ..SessionRow::from(view) })
}

fn tasks_after(conn: &Connection, last: i64) -> rusqlite::Result<(Vec<String>, i64)> {
    let mut select = conn.prepare_cached("SELECT row, id FROM bosun_tasks WHERE row > ?1 ORDER BY row")?;
    let rows = select.query_map([last], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)))?;
    let (mut tasks, mut last) = (Vec::new(), last);
    for row in rows {
        let (row, id) = row?;
        tasks.push(id);
        last = row;
    }
    Ok((tasks, last))
}
