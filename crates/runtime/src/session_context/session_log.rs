//! What is known from the session's log: summaries in memory, and reads of the file for everything else.

use std::sync::{Arc, Mutex, PoisonError};

use host::Home;
use protocol::{Envelope, SessionId, TaskId};
use store::{SessionReader, StoreError};

use crate::bus::EventBus;
use crate::roster::{Roster, TaskTrace};

/// The log of a session.
#[derive(Debug)]
pub(crate) struct SessionLog {
    home: Home,
    session: SessionId,
    /// A summary of every task.
    pub(crate) roster: Arc<Roster>,
    pub(crate) bus: EventBus,
    /// A reader that stays open, since every activation starts with a query of the log.
    kept_reader: Mutex<Option<SessionReader>>,
}

impl SessionLog {
    pub(crate) fn new(home: &Home, session: SessionId, roster: Arc<Roster>) -> SessionLog {
        SessionLog {
            home: home.clone(),
            session,
            roster,
            bus: EventBus::new(home.clone(), session),
            kept_reader: Mutex::default(),
        }
    }

    pub(crate) fn reader(&self) -> Result<SessionReader, StoreError> {
        SessionReader::open(&self.home, self.session)
    }

    /// The events of a task after `seq`.
    pub(crate) fn task_events_after(&self, task: TaskId, seq: u64) -> Result<Vec<Envelope>, StoreError> {
        self.query(|reader| reader.task_events_after(task, seq))
    }

    /// The text and evidence of a task, from the file if the roster does not hold them any more.
    pub(crate) fn task_trace(&self, task: TaskId) -> Arc<TaskTrace> {
        if let Some(trace) = self.roster.trace(task) {
            return trace;
        }
        match self.query(|reader| reader.task_outcome_events(task)) {
            Ok(log) => Arc::new(TaskTrace::from_log(&log)),
            Err(error) => {
                tracing::warn!(%task, %error, "the text and evidence of a task cannot be read");
                Arc::default()
            }
        }
    }

    fn query<T>(&self, query: impl FnOnce(&SessionReader) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut kept_reader = self.kept_reader.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = match kept_reader.take() {
            Some(reader) => reader,
            None => self.reader()?,
        };
        // A reader that failed is dropped.
        let result = query(&reader)?;
        *kept_reader = Some(reader);
        Ok(result)
    }
}
