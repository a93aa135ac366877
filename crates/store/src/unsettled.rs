//! Which sessions a person may be waited for in, without opening those that are at rest.

use std::fs;

use host::Home;
use protocol::SessionId;

use crate::error::companion;
use crate::{Index, Reader, SessionRow, StoreError};

/// What a session's row says while anything in it waits for a person.
const ASKING: &str = "asking";

/// What it says of one that was left with nothing to do.
const AT_REST: &str = "idle";

impl Reader {
    /// What the index says of the session; nothing when its first commit never happened.
    pub fn session_row(&self) -> Result<Option<SessionRow>, StoreError> {
        let view = self.session_view()?;
        let mut row = SessionRow::from(&view);
        if !self.asks(false)?.is_empty() {
            row.state = ASKING.into();
        }
        Ok((view.events > 0).then_some(row))
    }
}

impl Index {
    /// The sessions in which anything may wait for a person, oldest first. A row is written when an owner comes and
    /// when it leaves, so one that says `idle` is believed only if nobody has the session open or died with it open.
    pub fn unsettled(&self, home: &Home) -> Result<Vec<SessionRow>, StoreError> {
        let mut rows = self.list(None)?;
        rows.retain(|row| row.state != AT_REST || is_in_use(home, row.id));
        rows.reverse();
        Ok(rows)
    }
}

/// Whether a process runs the session, or ended without leaving it: its socket or its write-ahead log tells.
fn is_in_use(home: &Home, id: SessionId) -> bool {
    let log = companion(&home.session_db(id), "-wal");
    fs::metadata(log).is_ok_and(|log| log.len() > 0) || home.socket(id).exists()
}
