//! The whole log of a session, as far as it can be read.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use host::Home;
use protocol::api::{ExportResult, LogFormat};
use protocol::{Envelope, SessionId};
use store::{SalvagedLog, StoreError};

use crate::events::EVENTS_PER_PAGE;
use crate::{ClientError, StoredSession, session_markdown};

/// The readable events of a session.
#[derive(Debug)]
pub struct SessionLog {
    /// The events, oldest first.
    pub events: Vec<Envelope>,
    /// Why the log is not complete.
    pub damage: Option<LogDamage>,
}

/// What is wrong with a log of which some events can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogDamage {
    /// Its end is missing.
    #[error(
        "{path} is truncated: the last {} events are missing; {last} of the {committed} committed events can be read",
        committed - last
    )]
    Truncated {
        /// The session's file.
        path: PathBuf,
        /// The last event that can be read.
        last: u64,
        /// The last event that was committed.
        committed: u64,
    },
    /// The file is damaged.
    #[error("{path} is damaged: {detail}; {readable} events can be read; {}", format_missing(missing))]
    Damaged {
        /// The session's file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
        /// How many events can be read.
        readable: usize,
        /// The events that cannot be read.
        missing: Vec<RangeInclusive<u64>>,
    },
}

impl SessionLog {
    /// Reads all readable events.
    pub fn read(home: &Home, id: SessionId) -> Result<SessionLog, StoreError> {
        // Read this before the log: a log written meanwhile has more events by then, never fewer.
        let committed = store::last_committed(home, id).unwrap_or(0);
        match read_whole(home, id) {
            Ok(events) => {
                let last = events.last().map_or(0, |envelope| envelope.seq);
                let truncated = || LogDamage::Truncated { path: home.session_db(id), last, committed };
                let damage = (committed > last).then(truncated);
                Ok(SessionLog { events, damage })
            }
            Err(StoreError::Corrupt { path, detail }) => {
                let SalvagedLog { events, missing } = store::salvage(home, id)?;
                if events.is_empty() {
                    return Err(StoreError::Corrupt { path, detail });
                }
                let damage = Some(LogDamage::Damaged { path, detail, readable: events.len(), missing });
                Ok(SessionLog { events, damage })
            }
            Err(error) => Err(error),
        }
    }
}

/// A session's whole log, as far as it can be read.
pub(crate) fn export(home: &Home, id: SessionId, format: LogFormat) -> Result<ExportResult, ClientError> {
    let SessionLog { events, damage } = SessionLog::read(home, id)?;
    let text = match format {
        LogFormat::Markdown => session_markdown(&events),
        LogFormat::Json => serde_json::to_string_pretty(&events).map_err(ClientError::internal)?,
    };
    Ok(ExportResult { text, damage: damage.map(|damage| damage.to_string()) })
}

fn read_whole(home: &Home, id: SessionId) -> Result<Vec<Envelope>, StoreError> {
    let stored = StoredSession::open(home, id)?;
    let mut log: Vec<Envelope> = Vec::new();
    loop {
        let page = stored.events_after(log.last().map_or(0, |envelope| envelope.seq), EVENTS_PER_PAGE)?;
        if page.is_empty() {
            return Ok(log);
        }
        log.extend(page);
    }
}

fn format_missing(ranges: &[RangeInclusive<u64>]) -> String {
    if ranges.is_empty() {
        return "no events are missing".to_owned();
    }
    let range = |range: &RangeInclusive<u64>| match (range.start(), range.end()) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first} to {last}"),
    };
    format!("missing events: {}", ranges.iter().map(range).collect::<Vec<_>>().join(", "))
}
