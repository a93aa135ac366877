//! Rows of the log. An event keeps the JSON in which it was first written, and is converted to the current format when
//! it is read, so a log is never rewritten.

use protocol::{Envelope, Event, LogEntry, SessionId, TaskId, Timestamp};
use rusqlite::{Connection, Row, params};

use crate::error::unreadable;
use crate::log_digest::LogDigest;

/// Appends an event to the log, and to the log's digest.
pub(crate) fn insert(conn: &Connection, log_digest: LogDigest, entry: &LogEntry) -> rusqlite::Result<LogDigest> {
    let LogEntry { task, at, event } = entry;
    let (seq, task, body) = (log_digest.seq + 1, task.to_string(), event_json(event)?);
    conn.prepare_cached("INSERT INTO bosun_events (seq, v, at, task, body) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![seq, Envelope::VERSION, at.0, task, body])?;
    Ok(log_digest.with(seq, at.0, &task, &body))
}

/// Computes the digest of the log; calls `on_event` with the digest so far after each event.
pub(crate) fn digest_log(conn: &Connection, mut on_event: impl FnMut(LogDigest)) -> rusqlite::Result<LogDigest> {
    let mut select = conn.prepare("SELECT seq, at, task, body FROM bosun_events ORDER BY seq")?;
    let mut rows = select.query([])?;
    let mut log_digest = LogDigest::EMPTY;
    while let Some(row) = rows.next()? {
        let (task, body) = (row.get_ref(2)?.as_str()?, row.get_ref(3)?.as_str()?);
        log_digest = log_digest.with(row.get(0)?, row.get(1)?, task, body);
        on_event(log_digest);
    }
    Ok(log_digest)
}

/// Reads at most `limit` events after `seq`.
pub(crate) fn events_after(
    conn: &Connection,
    session: SessionId,
    seq: u64,
    limit: usize,
) -> rusqlite::Result<Vec<Envelope>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    conn.prepare_cached("SELECT seq, v, at, task, body FROM bosun_events WHERE seq > ?1 ORDER BY seq LIMIT ?2")?
        .query_map(params![seq, limit], |row| envelope(row, session))?
        .collect()
}

/// Reads every event of one task after `seq`.
pub(crate) fn task_events(
    conn: &Connection,
    session: SessionId,
    task: TaskId,
    seq: u64,
) -> rusqlite::Result<Vec<Envelope>> {
    conn.prepare_cached("SELECT seq, v, at, task, body FROM bosun_events WHERE task = ?1 AND seq > ?2 ORDER BY seq")?
        .query_map(params![task.to_string(), seq], |row| envelope(row, session))?
        .collect()
}

/// Reads the events of one task that hold its outcomes and evidence.
pub(crate) fn outcome_events(conn: &Connection, session: SessionId, task: TaskId) -> rusqlite::Result<Vec<Envelope>> {
    conn.prepare_cached(
        "SELECT seq, v, at, task, body FROM bosun_events
         WHERE task = ?1 AND type IN ('activationEnded', 'callAnswered', 'workSealed') ORDER BY seq",
    )?
    .query_map(params![task.to_string()], |row| envelope(row, session))?
    .collect()
}

/// The number of the last event; 0 in an empty log.
pub(crate) fn last_seq(conn: &Connection) -> rusqlite::Result<u64> {
    conn.prepare_cached("SELECT ifnull(max(seq), 0) FROM bosun_events")?.query_row([], |row| row.get(0))
}

/// The text of an event in the log.
pub(crate) fn event_json(event: &Event) -> rusqlite::Result<String> {
    event.to_json().map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

/// Serialises a value for its column.
pub(crate) fn to_json<T: serde::Serialize>(value: &T) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

/// Reads a value from its column.
pub(crate) fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(unreadable)
}

fn envelope(row: &Row<'_>, session: SessionId) -> rusqlite::Result<Envelope> {
    let (seq, v, at): (u64, u32, u64) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let (task, body): (String, String) = (row.get(3)?, row.get(4)?);
    envelope_of(session, seq, v, at, &task, body)
}

/// Builds an event from the values of its row.
pub(crate) fn envelope_of(
    session: SessionId,
    seq: u64,
    v: u32,
    at: u64,
    task: &str,
    body: String,
) -> rusqlite::Result<Envelope> {
    let task = task.parse().map_err(|error| unreadable(format!("event {seq}: {error}")))?;
    let event = match Event::from_json(&upcast(v, body)) {
        Ok(event) => event,
        Err(_) if v > Envelope::VERSION => Event::Unknown,
        Err(error) => return Err(unreadable(format!("event {seq}: {error}"))),
    };
    Ok(Envelope { v: v.max(Envelope::VERSION), seq, session, entry: LogEntry { task, at: Timestamp(at), event } })
}

/// Converts an event from format `v` to the current one. There is only one format so far; each new one adds its
/// conversion here.
fn upcast(_v: u32, body: String) -> String {
    body
}
