//! A session that was played, to look at.

use protocol::api::TaskView;
use protocol::{Envelope, Event, SessionId, TaskOutcome};
use store::SessionReader;

use super::{SessionFixture, transcript};

/// A session that was played, as its file tells it.
#[derive(Debug)]
pub struct PlayedSession {
    stage: SessionFixture,
    id: SessionId,
    events: Vec<Envelope>,
    tasks: Vec<TaskView>,
}

impl PlayedSession {
    pub(super) fn read(stage: SessionFixture, id: SessionId) -> PlayedSession {
        let reader = SessionReader::open(stage.home(), id).unwrap();
        let events = reader.events_after(0, usize::MAX).unwrap();
        let compacted = |envelope: &&Envelope| matches!(envelope.entry.event, Event::Compacted(_));
        stage.model(id).verify(events.iter().filter(compacted).count());
        let tasks = reader.tasks(&protocol::api::TasksParams::all_tasks()).unwrap().tasks;
        PlayedSession { stage, id, events, tasks }
    }

    /// The session.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Where it was played.
    pub fn stage(&self) -> &SessionFixture {
        &self.stage
    }

    /// Everything that happened, as text that is the same in every run.
    pub fn transcript(&self) -> String {
        self.stage.plain(&transcript(&self.events))
    }

    /// How the root's last activation ended.
    pub fn outcome(&self) -> Option<&TaskOutcome> {
        self.tasks.first().and_then(|root| root.last_outcome.as_ref())
    }

    /// The text of the root's last activation.
    pub fn text(&self) -> &str {
        self.tasks.first().and_then(|root| root.result.as_deref()).unwrap_or_default()
    }

    /// What a file of the working folder says; nothing if it is not there.
    pub fn file(&self, path: &str) -> Option<String> {
        self.stage.file(path)
    }

    /// The log.
    pub fn events(&self) -> &[Envelope] {
        &self.events
    }

    /// How many events `wanted` holds for.
    pub fn count(&self, wanted: impl Fn(&Event) -> bool) -> usize {
        self.events.iter().filter(|envelope| wanted(&envelope.entry.event)).count()
    }

    /// Every task, oldest first.
    pub fn tasks(&self) -> &[TaskView] {
        &self.tasks
    }
}
