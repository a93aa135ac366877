//! A session's log, folded by an eye of its own: it shares nothing with the kernel that it watches.

use std::collections::BTreeMap;

use protocol::{Activation, AnswerStatus, Block, Body, Envelope, Event, MailId, Mode, Outcome, TaskId};

/// What a log says.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) tasks: BTreeMap<TaskId, Past>,
    pub(super) mail: BTreeMap<MailId, Post>,
}

/// What it says of one task.
#[derive(Debug, Default)]
pub(super) struct Past {
    pub(super) path: String,
    /// How deep below the root.
    pub(super) depth: u32,
    pub(super) background: bool,
    pub(super) activations: BTreeMap<Activation, Stay>,
    /// Its answers from models.
    pub(super) answers: u32,
    /// Every call that its model made, with the answers to it; an id may come again in a later turn.
    pub(super) calls: BTreeMap<(u32, String), Vec<AnswerStatus>>,
}

/// What it says of one activation.
#[derive(Debug, Default)]
pub(super) struct Stay {
    pub(super) endings: Vec<(Outcome, String)>,
    pub(super) greeted: u32,
    pub(super) parted: u32,
}

/// What it says of one piece of mail.
#[derive(Debug)]
pub(super) struct Post {
    pub(super) to: TaskId,
    /// The activation whose result it is.
    pub(super) result: Option<(TaskId, Activation)>,
    pub(super) delivered: u32,
    pub(super) expired: u32,
}

impl History {
    pub(super) fn read(log: &[Envelope]) -> History {
        let mut history = History::default();
        log.iter().for_each(|envelope| history.add(envelope.entry.task, &envelope.entry.event));
        history
    }

    /// The task of a path.
    pub(super) fn at(&self, path: &str) -> Option<(TaskId, &Past)> {
        self.tasks.iter().find(|(_, past)| past.path == path).map(|(id, past)| (*id, past))
    }

    fn add(&mut self, id: TaskId, event: &Event) {
        match event {
            Event::TaskCreated(spec) => {
                let parent = spec.parent.and_then(|parent| self.tasks.get(&parent));
                let above = parent.map_or("", |parent| &parent.path);
                let path = format!("{above}/{}", spec.name);
                let depth = parent.map_or(0, |parent| parent.depth + 1);
                let past = Past { path, depth, background: spec.mode == Mode::Background, ..Past::default() };
                self.tasks.insert(id, past);
            }
            Event::MailAdmitted { mail, body, .. } => {
                let result = match body {
                    Body::Result { task, activation } => Some((*task, *activation)),
                    Body::Text { .. } => None,
                };
                self.mail.insert(*mail, Post { to: id, result, delivered: 0, expired: 0 });
            }
            Event::MailDelivered { mail } => mail.iter().for_each(|mail| self.post(*mail, |post| post.delivered += 1)),
            Event::MailExpired { mail } => self.post(*mail, |post| post.expired += 1),
            own => {
                if let Some(past) = self.tasks.get_mut(&id) {
                    past.add(own);
                }
            }
        }
    }

    fn post(&mut self, mail: MailId, change: impl FnOnce(&mut Post)) {
        if let Some(post) = self.mail.get_mut(&mail) {
            change(post);
        }
    }
}

impl Past {
    fn add(&mut self, event: &Event) {
        match event {
            Event::TaskPromoted => self.background = true,
            Event::ActivationStarted { activation, .. } => {
                self.activations.entry(*activation).or_default();
            }
            Event::ActivationEnded { activation, outcome, text } => {
                self.stay(*activation).endings.push((outcome.clone(), text.clone()));
            }
            Event::ActivationGreeted { activation, .. } => self.stay(*activation).greeted += 1,
            Event::ActivationParted { activation } => self.stay(*activation).parted += 1,
            Event::TurnAnswered { content, .. } => {
                self.answers += 1;
                let made = content.iter().filter_map(|block| match block {
                    Block::Call(call) => Some(call.id.0.clone()),
                    Block::Text { .. } | Block::Thinking { .. } | Block::Opaque { .. } => None,
                });
                self.calls.extend(made.map(|call| ((self.answers, call), Vec::new())));
            }
            Event::CallAnswered { call, answer, .. } => {
                self.calls.entry((self.answers, call.0.clone())).or_default().push(answer.status);
            }
            _other => {}
        }
    }

    fn stay(&mut self, activation: Activation) -> &mut Stay {
        self.activations.entry(activation).or_default()
    }

    /// How its last activation ended.
    pub(super) fn last_ending(&self) -> Option<&(Outcome, String)> {
        self.activations.values().rev().find_map(|stay| stay.endings.last())
    }
}
