//! What the client is shown besides what agents say and do: tasks, and how the session stands. It keeps the session files
//! too.

use std::path::PathBuf;

use host::Home;
use protocol::api::StatusView;
use protocol::{Envelope, SessionId};
use serde_json::Value;
use store::{SessionReader, StoreError};
use uuid::Uuid;

use super::frames::client_tool_call;
use super::state::{StateReporter, StateReporting};
use super::tasks::TaskReporter;
use super::transcripts::ClaudeTranscripts;
use crate::session_uuid;

/// How many events are read from the log at a time.
const PAGE: usize = 256;

/// Follows a session.
#[derive(Debug)]
pub(super) struct SessionFollower {
    session: Uuid,
    tasks: TaskReporter,
    states: StateReporter,
    transcripts: Option<ClaudeTranscripts>,
}

impl SessionFollower {
    /// Follows a session from its beginning. Its files are kept below `projects`, if there is such a folder.
    pub(super) fn new(session: SessionId, telling: StateReporting, projects: Option<PathBuf>) -> SessionFollower {
        let uuid = session_uuid(session);
        SessionFollower {
            session: uuid,
            tasks: TaskReporter::new(uuid, |tool| client_tool_call(tool, "{}").0),
            states: StateReporter::new(telling),
            transcripts: projects.map(|projects| ClaudeTranscripts::new(projects, session)),
        }
    }

    /// Takes in what happened up to an event, without a word; `seen` sees it too.
    pub(super) fn catch_up(
        &mut self,
        home: &Home,
        session: SessionId,
        upto: u64,
        mut seen: impl FnMut(&Envelope),
    ) -> Result<(), StoreError> {
        let reader = SessionReader::open(home, session)?;
        let mut seq = 0;
        while seq < upto {
            let page = reader.events_after(seq, PAGE)?;
            let Some(last) = page.last().map(|envelope| envelope.seq) else { return Ok(()) };
            for envelope in page.iter().filter(|envelope| envelope.seq <= upto) {
                self.event(envelope);
                seen(envelope);
            }
            seq = last;
        }
        Ok(())
    }

    /// The tasks of the session.
    pub(super) fn tasks(&self) -> &TaskReporter {
        &self.tasks
    }

    /// The frames of an event, which come before what agents say and do in it. The files have it before the client does.
    pub(super) fn event(&mut self, envelope: &Envelope) -> Vec<Value> {
        if let Some(records) = &mut self.transcripts {
            records.follow(envelope);
        }
        self.tasks.follow(envelope)
    }

    /// The frame of the session's state, which comes after all events that it follows from; so many messages of the
    /// client's have no result yet.
    pub(super) fn status(&mut self, status: &StatusView, messages: usize) -> Option<Value> {
        self.states.frame(status, self.tasks.agents() + messages, self.session)
    }
}
