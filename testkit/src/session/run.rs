//! A session that was played, for inspection.

use model::{MessagePart, ModelMessage, ModelRequest};
use protocol::api::TaskView;
use protocol::{Envelope, Event, SessionId, TaskOutcome};
use store::SessionReader;

use super::{SessionFixture, transcript};

/// A session that was played, read from its file.
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
        let compacted =
            |envelope: &&Envelope| matches!(envelope.entry.event, Event::Compacted(_) | Event::ConversationCut { .. });
        stage.model(id).verify(events.iter().filter(compacted).count());
        let tasks = reader.tasks(&protocol::api::TasksParams::all_tasks()).unwrap().tasks;
        PlayedSession { stage, id, events, tasks }
    }

    /// The session.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Its fixture.
    pub fn stage(&self) -> &SessionFixture {
        &self.stage
    }

    /// Its log as text that is the same in every run.
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

    /// The text of a file in the working folder; `None` if it does not exist.
    pub fn file(&self, path: &str) -> Option<String> {
        self.stage.file(path)
    }

    /// The prompts of a task: the first message of each first request.
    pub fn prompts(&self, path: &str) -> Vec<String> {
        let requests = self.stage.model(self.id).requests();
        requests.iter().filter(|request| request.path == path && request.turn == 1).map(first_text).collect()
    }

    /// The log.
    pub fn events(&self) -> &[Envelope] {
        &self.events
    }

    /// The number of events that `wanted` accepts.
    pub fn count(&self, wanted: impl Fn(&Event) -> bool) -> usize {
        self.events.iter().filter(|envelope| wanted(&envelope.entry.event)).count()
    }

    /// Every task, oldest first.
    pub fn tasks(&self) -> &[TaskView] {
        &self.tasks
    }
}

/// The text of a request's first message.
fn first_text(request: &ModelRequest) -> String {
    let Some(ModelMessage::User { parts }) = request.messages.first() else { return String::new() };
    let text = |part: &MessagePart| match part {
        MessagePart::Text(text) => Some(text.clone()),
        MessagePart::Image(_) => None,
    };
    parts.iter().filter_map(text).collect()
}
