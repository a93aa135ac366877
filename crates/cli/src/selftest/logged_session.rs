//! A session's log, folded independently: it shares no code with the kernel that it checks.

use std::collections::BTreeMap;

use protocol::{
    Activation, ContentBlock, Envelope, Event, MailBody, MailId, TaskId, TaskMode, TaskOutcome, ToolResultStatus,
};

/// The contents of a log.
#[derive(Debug, Default)]
pub(super) struct LoggedSession {
    pub(super) tasks: BTreeMap<TaskId, LoggedTask>,
    pub(super) mail: BTreeMap<MailId, LoggedMail>,
}

/// The events of one task.
#[derive(Debug, Default)]
pub(super) struct LoggedTask {
    pub(super) path: String,
    /// The depth below the root.
    pub(super) depth: u32,
    pub(super) background: bool,
    pub(super) activations: BTreeMap<Activation, LoggedActivation>,
    /// The number of model answers.
    pub(super) answers: u32,
    /// Every call of its model with the answers to it; an id may recur in a later turn.
    pub(super) calls: BTreeMap<(u32, String), Vec<ToolResultStatus>>,
}

/// The events of one activation.
#[derive(Debug, Default)]
pub(super) struct LoggedActivation {
    pub(super) endings: Vec<(TaskOutcome, String)>,
    pub(super) start_hook_runs: u32,
    pub(super) stop_hook_runs: u32,
}

/// The events of one mail.
#[derive(Debug)]
pub(super) struct LoggedMail {
    pub(super) to: TaskId,
    /// The activation whose result it carries.
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

    /// The task with this path.
    pub(super) fn task_at(&self, path: &str) -> Option<(TaskId, &LoggedTask)> {
        self.tasks.iter().find(|(_, task)| task.path == path).map(|(id, task)| (*id, task))
    }

    fn add(&mut self, id: TaskId, event: &Event) {
        match event {
            Event::TaskCreated(spec) => {
                let parent = spec.parent.and_then(|parent| self.tasks.get(&parent));
                let parent_path = parent.map_or("", |parent| &parent.path);
                let path = format!("{parent_path}/{}", spec.name);
                let depth = parent.map_or(0, |parent| parent.depth + 1);
                let task =
                    LoggedTask { path, depth, background: spec.mode == TaskMode::Background, ..LoggedTask::default() };
                self.tasks.insert(id, task);
            }
            Event::MailAdmitted { mail, body, .. } => {
                let result = match body {
                    MailBody::Result { task, activation } => Some((*task, *activation)),
                    MailBody::Text { .. } => None,
                };
                self.mail.insert(*mail, LoggedMail { to: id, result, delivered: 0, expired: 0 });
            }
            Event::MailDelivered { mail } => {
                mail.iter().for_each(|id| self.update_mail(*id, |mail| mail.delivered += 1))
            }
            Event::MailExpired { mail } => self.update_mail(*mail, |mail| mail.expired += 1),
            task_event => {
                if let Some(task) = self.tasks.get_mut(&id) {
                    task.add(task_event);
                }
            }
        }
    }

    fn update_mail(&mut self, mail: MailId, change: impl FnOnce(&mut LoggedMail)) {
        if let Some(mail_state) = self.mail.get_mut(&mail) {
            change(mail_state);
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
                let calls = content.iter().filter_map(|block| match block {
                    ContentBlock::Call(call) => Some(call.id.0.clone()),
                    ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
                });
                self.calls.extend(calls.map(|call| ((self.answers, call), Vec::new())));
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
        self.activations.values().rev().find_map(|activation| activation.endings.last())
    }
}
