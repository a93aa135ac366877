//! A session's log, folded by an eye of its own: it shares nothing with the kernel that it watches.

use std::collections::BTreeMap;

use protocol::{
    Activation, ContentBlock, Envelope, Event, MailBody, MailId, TaskId, TaskMode, TaskOutcome, ToolResultStatus,
};

/// What a log says.
#[derive(Debug, Default)]
pub(super) struct LoggedSession {
    pub(super) tasks: BTreeMap<TaskId, LoggedTask>,
    pub(super) mail: BTreeMap<MailId, LoggedMail>,
}

/// What it says of one task.
#[derive(Debug, Default)]
pub(super) struct LoggedTask {
    pub(super) path: String,
    /// How deep below the root.
    pub(super) depth: u32,
    pub(super) background: bool,
    pub(super) activations: BTreeMap<Activation, LoggedActivation>,
    /// Its answers from models.
    pub(super) answers: u32,
    /// Every call that its model made, with the answers to it; an id may come again in a later turn.
    pub(super) calls: BTreeMap<(u32, String), Vec<ToolResultStatus>>,
}

/// What it says of one activation.
#[derive(Debug, Default)]
pub(super) struct LoggedActivation {
    pub(super) endings: Vec<(TaskOutcome, String)>,
    pub(super) start_hook_runs: u32,
    pub(super) stop_hook_runs: u32,
}

/// What it says of one piece of mail.
#[derive(Debug)]
pub(super) struct LoggedMail {
    pub(super) to: TaskId,
    /// The activation whose result it is.
    pub(super) result: Option<(TaskId, Activation)>,
    pub(super) delivered: u32,
    pub(super) expired: u32,
}

impl LoggedSession {
    pub(super) fn read(log: &[Envelope]) -> LoggedSession {
        let mut history = LoggedSession::default();
        log.iter().for_each(|envelope| history.add(envelope.entry.task, &envelope.entry.event));
        history
    }

    /// The task of a path.
    pub(super) fn task_at(&self, path: &str) -> Option<(TaskId, &LoggedTask)> {
        self.tasks.iter().find(|(_, past)| past.path == path).map(|(id, past)| (*id, past))
    }

    fn add(&mut self, id: TaskId, event: &Event) {
        match event {
            Event::TaskCreated(spec) => {
                let parent = spec.parent.and_then(|parent| self.tasks.get(&parent));
                let above = parent.map_or("", |parent| &parent.path);
                let path = format!("{above}/{}", spec.name);
                let depth = parent.map_or(0, |parent| parent.depth + 1);
                let past =
                    LoggedTask { path, depth, background: spec.mode == TaskMode::Background, ..LoggedTask::default() };
                self.tasks.insert(id, past);
            }
            Event::MailAdmitted { mail, body, .. } => {
                let result = match body {
                    MailBody::Result { task, activation } => Some((*task, *activation)),
                    MailBody::Text { .. } => None,
                };
                self.mail.insert(*mail, LoggedMail { to: id, result, delivered: 0, expired: 0 });
            }
            Event::MailDelivered { mail } => {
                mail.iter().for_each(|mail| self.update_mail(*mail, |post| post.delivered += 1))
            }
            Event::MailExpired { mail } => self.update_mail(*mail, |post| post.expired += 1),
            own => {
                if let Some(past) = self.tasks.get_mut(&id) {
                    past.add(own);
                }
            }
        }
    }

    fn update_mail(&mut self, mail: MailId, change: impl FnOnce(&mut LoggedMail)) {
        if let Some(post) = self.mail.get_mut(&mail) {
            change(post);
        }
    }
}

impl LoggedTask {
    fn add(&mut self, event: &Event) {
        match event {
            Event::TaskPromoted => self.background = true,
            Event::ActivationStarted { activation, .. } => {
                self.activations.entry(*activation).or_default();
            }
            Event::ActivationEnded { activation, outcome, text } => {
                self.activation(*activation).endings.push((outcome.clone(), text.clone()));
            }
            Event::StartHooksRan { activation, .. } => self.activation(*activation).start_hook_runs += 1,
            Event::StopHooksRan { activation } => self.activation(*activation).stop_hook_runs += 1,
            Event::TurnAnswered { content, .. } => {
                self.answers += 1;
                let made = content.iter().filter_map(|block| match block {
                    ContentBlock::Call(call) => Some(call.id.0.clone()),
                    ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
                });
                self.calls.extend(made.map(|call| ((self.answers, call), Vec::new())));
            }
            Event::CallAnswered { call, answer, .. } => {
                self.calls.entry((self.answers, call.0.clone())).or_default().push(answer.status);
            }
            _other => {}
        }
    }

    fn activation(&mut self, activation: Activation) -> &mut LoggedActivation {
        self.activations.entry(activation).or_default()
    }

    /// How its last activation ended.
    pub(super) fn last_ending(&self) -> Option<&(TaskOutcome, String)> {
        self.activations.values().rev().find_map(|stay| stay.endings.last())
    }
}
