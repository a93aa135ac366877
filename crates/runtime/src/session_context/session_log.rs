//! What is known from the session's log: summaries in memory, and reads of the file for everything else.

use std::sync::Arc;

use protocol::{Activation, CompletionPolicy, Envelope, TaskId};
use store::{SessionReader, StoreError};

use super::SessionFacts;
use crate::bus::EventBus;
use crate::conversation::{Conversation, ResultFormatter};
use crate::kept_reader::KeptReader;
use crate::roster::{Roster, TaskTrace};
use crate::subagents;

/// The log of a session.
#[derive(Debug)]
pub(crate) struct SessionLog {
    pub(crate) facts: Arc<SessionFacts>,
    /// A summary of every task.
    pub(crate) roster: Arc<Roster>,
    pub(crate) bus: EventBus,
    /// Every activation starts with a query of the log.
    kept_reader: Arc<KeptReader>,
}

impl SessionLog {
    pub(crate) fn new(facts: Arc<SessionFacts>, roster: Arc<Roster>) -> SessionLog {
        let kept_reader = Arc::new(KeptReader::new(facts.home.clone(), facts.session));
        SessionLog { facts, roster, bus: EventBus::new(Arc::clone(&kept_reader)), kept_reader }
    }

    pub(crate) fn reader(&self) -> Result<SessionReader, StoreError> {
        SessionReader::open(&self.facts.home, self.facts.session)
    }

    /// A task's conversation, rebuilt from the log.
    pub(crate) fn conversation(&self, task: TaskId) -> Result<Conversation, StoreError> {
        let mut conversation = Conversation::default();
        for envelope in self.task_events_after(task, 0)? {
            conversation.apply_event(&envelope, self);
        }
        Ok(conversation)
    }

    /// Whether what a task starts may work in the background: for the root, and for an agent whose definition allows it,
    /// unless it finishes with its activation, which would stop it.
    pub(crate) fn may_spawn_in_background(&self, task: TaskId) -> bool {
        let (is_root, becomes_idle) = self
            .roster
            .with_task(task, |entry| (entry.depth == 0, entry.spec.on_complete == CompletionPolicy::Idle))
            .unwrap_or_default();
        let is_allowed = || self.roster.definition(task).is_some_and(|definition| definition.background_spawns);
        is_root || becomes_idle && is_allowed()
    }

    /// The events of a task after `seq`.
    pub(crate) fn task_events_after(&self, task: TaskId, seq: u64) -> Result<Vec<Envelope>, StoreError> {
        self.kept_reader.query(|reader| reader.task_events_after(task, seq))
    }

    /// The text and evidence of a task, from the file if the roster does not hold them any more.
    pub(crate) fn task_trace(&self, task: TaskId) -> Arc<TaskTrace> {
        if let Some(trace) = self.roster.trace(task) {
            return trace;
        }
        match self.kept_reader.query(|reader| reader.task_outcome_events(task)) {
            Ok(log) => Arc::new(TaskTrace::from_log(&log)),
            Err(error) => {
                tracing::warn!(%task, %error, "the text and evidence of a task cannot be read");
                Arc::default()
            }
        }
    }
}

impl ResultFormatter for SessionLog {
    fn format_result(&self, task: TaskId, activation: Activation) -> String {
        subagents::activation_result(self, task, activation)
            .unwrap_or_else(|| format!("{} has ended", self.roster.path(task)))
    }

    fn format_message(&self, from: TaskId, text: &str) -> String {
        subagents::message_text(self, from, text)
    }
}
