//! A second reading of mail. Each piece is delivered once or expires with its reader, and order is kept:
//!
//! - steering and interrupting mail is delivered in the order in which it came, from all writers;
//! - follow-ups are delivered in the order in which they came;
//! - a follow-up is not delivered before anything that came earlier; what comes later may overtake it, unless it is a
//!   follow-up too.
//!
//! So for one writer and one reader each kind is first in, first out.

use std::collections::{BTreeMap, BTreeSet};

use protocol::*;

use crate::*;

#[derive(Default)]
pub(super) struct MailAudit {
    unread: BTreeMap<TaskId, BTreeMap<MailId, MailDelivery>>,
    admitted: BTreeSet<MailId>,
    told: BTreeSet<(TaskId, Activation)>,
    /// Tasks that read no mail but what they are made with.
    commands: BTreeSet<TaskId>,
    /// Tasks whose result goes to a call that waits.
    awaited: BTreeSet<TaskId>,
    /// What a task was told when it was kept from ending, until it has read that.
    reasons: BTreeMap<TaskId, BTreeSet<MailId>>,
    /// A stop that was held in this step, and of which its task is to be told next.
    held: Option<(TaskId, String)>,
    /// Mail that is the result of a task.
    results: BTreeSet<MailId>,
    /// Tasks that rest over results, and are to be woken for them.
    owed: BTreeSet<TaskId>,
}

impl MailAudit {
    pub(super) fn read(&mut self, id: TaskId, event: &Event) {
        let told = matches!(event, Event::MailAdmitted { .. }) || self.held.is_none();
        assert!(told, "a stop was held and the reason was not told at once");
        match event {
            Event::StopBlocked { reason, .. } => self.held = Some((id, reason.clone())),
            Event::MailAdmitted { mail, from, delivery, body } => self.admit(id, *mail, *from, *delivery, body),
            Event::MailDelivered { mail } => self.deliver(id, mail),
            Event::MailExpired { mail } => self.settle(id, *mail),
            Event::TaskCreated(spec) => {
                self.commands.extend((spec.kind == TaskType::Shell).then_some(id));
                self.awaited.extend((spec.mode == TaskMode::Sync).then_some(id));
            }
            Event::TaskPromoted => assert!(self.awaited.remove(&id), "{id} was in the background already"),
            Event::ActivationEnded { outcome: TaskOutcome::Completed, .. } if !self.commands.contains(&id) => {
                let unread: Vec<MailId> = self.unread.get(&id).into_iter().flatten().map(|(mail, _)| *mail).collect();
                let gathers = unread.iter().all(|mail| self.results.contains(mail));
                assert!(gathers, "{id} completed over unread mail");
                self.owed.extend((!unread.is_empty()).then_some(id));
                assert!(self.reasons.get(&id).is_none_or(BTreeSet::is_empty), "{id} never heard why it was held");
            }
            Event::WakeDelayed { .. } | Event::TaskRequeued => drop(self.owed.remove(&id)),
            _other => {}
        }
    }

    fn admit(&mut self, to: TaskId, mail: MailId, from: Principal, delivery: MailDelivery, body: &MailBody) {
        assert!(self.admitted.insert(mail), "{mail} was admitted twice");
        self.unread.entry(to).or_default().insert(mail, delivery);
        if let MailBody::Result { task, activation } = body {
            self.results.insert(mail);
            assert!(self.told.insert((*task, *activation)), "the result of {task} was told twice");
            assert!(!self.awaited.contains(task), "the result of {task} was told to a call and as mail");
        }
        if let Some((held, reason)) = self.held.take() {
            assert_eq!((held, Principal::Runtime, &MailBody::text(reason)), (to, from, body));
            self.reasons.entry(to).or_default().insert(mail);
        }
    }

    fn deliver(&mut self, id: TaskId, mail: &[MailId]) {
        assert!(mail.is_sorted(), "mail is delivered out of order");
        let kinds: Vec<MailDelivery> = mail.iter().map(|mail| self.unread[&id][mail]).collect();
        mail.iter().for_each(|mail| self.settle(id, *mail));
        let left = &self.unread[&id];
        for (mail, kind) in mail.iter().zip(kinds) {
            let overtaken = left.range(..mail).any(|(_, other)| match (kind, other) {
                (MailDelivery::FollowUp, _) => true,
                (MailDelivery::Steer | MailDelivery::Interrupt, other) => *other != MailDelivery::FollowUp,
            });
            assert!(!overtaken, "{mail} overtook mail that came before");
        }
    }

    fn settle(&mut self, id: TaskId, mail: MailId) {
        let settled = self.unread.get_mut(&id).and_then(|unread| unread.remove(&mail));
        assert!(settled.is_some(), "{mail} was delivered twice, or to somebody else");
        self.reasons.entry(id).or_default().remove(&mail);
    }

    /// The kernel holds as unread what the log does.
    pub(super) fn check(&self, kernel: &Kernel) {
        assert!(self.held.is_none(), "a stop was held and the reason was not told");
        assert!(self.owed.is_empty(), "{:?} rest over results and do not wake", self.owed);
        for task in kernel.tasks() {
            match self.unread.get(&task.id) {
                Some(unread) => assert_eq!(*unread, task.inbox),
                None => assert!(task.inbox.is_empty()),
            }
        }
    }
}
