//! Produces the frames about tasks and the session's state (`FrameWriter` produces those of agents' messages), and
//! writes the session's transcripts.

use std::path::PathBuf;

use client::{SessionHandle, StoreError};
use host::Home;
use protocol::api::StatusView;
use protocol::{Envelope, SessionId};
use serde_json::Value;
use uuid::Uuid;

use super::frames::client_tool_call;
use super::state::{StateReporter, StateReporting};
use super::tasks::TaskReporter;
use super::transcripts::{ClaudeTranscripts, TranscriptMirror};
use crate::session_uuid;

/// How many events are read from the log at a time.
const EVENTS_PER_PAGE: usize = 256;

/// Follows a session.
#[derive(Debug)]
pub(super) struct SessionFollower {
    session: Uuid,
    tasks: TaskReporter,
    states: StateReporter,
    transcripts: Option<ClaudeTranscripts>,
}

impl SessionFollower {
    /// Follows a session from its beginning. Its transcripts are stored below `projects`; `None` disables them.
    pub(super) fn new(
        session: SessionId,
        reporting: StateReporting,
        projects: Option<PathBuf>,
        mirror: TranscriptMirror,
    ) -> SessionFollower {
        let uuid = session_uuid(session);
        SessionFollower {
            session: uuid,
            tasks: TaskReporter::new(uuid, |tool| client_tool_call(tool, "{}").0),
            states: StateReporter::new(reporting),
            transcripts: projects.map(|projects| ClaudeTranscripts::new(projects, session, mirror)),
        }
    }

    /// Processes the events up to `upto` without sending frames, and passes each to `on_event`.
    pub(super) fn catch_up(
        &mut self,
        home: &Home,
        session: SessionId,
        upto: u64,
        mut on_event: impl FnMut(&Envelope),
    ) -> Result<(), StoreError> {
        let reader = SessionHandle::new(home, session);
        let mut seq = 0;
        while seq < upto {
            let page = reader.events_after(seq, EVENTS_PER_PAGE)?;
            let Some(last) = page.last().map(|envelope| envelope.seq) else { return Ok(()) };
            for envelope in page.iter().filter(|envelope| envelope.seq <= upto) {
                self.apply_event(envelope);
                on_event(envelope);
            }
            seq = last;
        }
        Ok(())
    }

    /// The tasks of the session.
    pub(super) fn tasks(&self) -> &TaskReporter {
        &self.tasks
    }

    /// The frames of an event, which are sent before those of agents' messages. The files are written first.
    pub(super) fn apply_event(&mut self, envelope: &Envelope) -> Vec<Value> {
        if let Some(transcripts) = &mut self.transcripts {
            transcripts.write_event(envelope);
        }
        self.tasks.apply_event(envelope)
    }

    /// The frames with the transcript entries that were written and that the client has not received.
    pub(super) fn take_mirror_frames(&mut self) -> Vec<Value> {
        self.transcripts.as_mut().map(ClaudeTranscripts::take_mirror_frames).unwrap_or_default()
    }

    /// The frame of the session's state, which is sent after the events it results from. `messages` is the number of
    /// the client's messages without a result.
    pub(super) fn status_frame(&mut self, status: &StatusView, messages: usize) -> Option<Value> {
        self.states.changed_state_frame(status, self.tasks.active_agents() + messages, self.session)
    }
}
