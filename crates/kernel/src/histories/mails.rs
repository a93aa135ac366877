//! Checks mail in random histories: each mail is delivered once or expires with its reader, and order is kept:
//!
//! - steering and interrupting mail is delivered in order of arrival, from all senders;
//! - follow-ups are delivered in order of arrival;
//! - a follow-up is not delivered before mail that came earlier; later steering and interrupting mail may overtake it.
//!
//! So for one sender and one reader, each kind is first in, first out.

use std::collections::{BTreeMap, BTreeSet};

use protocol::*;

use crate::*;

/// The mail according to the log.
#[derive(Default)]
pub(super) struct MailAudit {
    unread: BTreeMap<TaskId, BTreeMap<MailId, MailDelivery>>,
    admitted: BTreeSet<MailId>,
    /// Activations whose result was sent as mail.
    sent_results: BTreeSet<(TaskId, Activation)>,
    /// Shell tasks, which read no mail except the prompt that starts them.
    without_answer: BTreeSet<TaskId>,
    /// Tasks whose result goes to a waiting call.
    awaited: BTreeSet<TaskId>,
    /// Unread mail with the reason why a task's end was blocked.
    block_reasons: BTreeMap<TaskId, BTreeSet<MailId>>,
    /// A task whose end was just blocked, and the reason, which must be its next mail.
    blocked_end: Option<(TaskId, String)>,
    /// Mail with the result of a task.
    results: BTreeSet<MailId>,
    /// Tasks that became idle with unread results, and must be woken for them at once or after a delay.
    must_wake: BTreeSet<TaskId>,
}

impl MailAudit {
    pub(super) fn check_event(&mut self, id: TaskId, event: &Event) {
        let is_in_order = matches!(event, Event::MailAdmitted { .. }) || self.blocked_end.is_none();
        assert!(is_in_order, "the end of a task was blocked and the reason was not sent at once");
        match event {
            Event::StopBlocked { reason, .. } => self.blocked_end = Some((id, reason.clone())),
            Event::MailAdmitted { mail, from, delivery, body } => self.admit(id, *mail, *from, *delivery, body),
            Event::MailDelivered { mail } => self.deliver(id, mail),
            Event::MailExpired { mail } => self.remove_unread(id, *mail),
            Event::TaskCreated(spec) => {
                self.without_answer.extend((!spec.kind.completes_with_answer()).then_some(id));
                self.awaited.extend((spec.mode == TaskMode::Sync).then_some(id));
            }
            Event::TaskPromoted => assert!(self.awaited.remove(&id), "{id} was already in the background"),
            Event::ActivationEnded { outcome: TaskOutcome::Completed, .. } if !self.without_answer.contains(&id) => {
                let unread: Vec<MailId> = self.unread.get(&id).into_iter().flatten().map(|(mail, _)| *mail).collect();
                let has_only_results = unread.iter().all(|mail| self.results.contains(mail));
                assert!(has_only_results, "{id} completed with unread mail");
                self.must_wake.extend((!unread.is_empty()).then_some(id));
                assert!(
                    self.block_reasons.get(&id).is_none_or(BTreeSet::is_empty),
                    "{id} never read why its end was blocked"
                );
            }
            Event::WakeDelayed { .. } | Event::TaskRequeued => drop(self.must_wake.remove(&id)),
            _other => {}
        }
    }

    fn admit(&mut self, to: TaskId, mail: MailId, from: Principal, delivery: MailDelivery, body: &MailBody) {
        assert!(self.admitted.insert(mail), "{mail} was admitted twice");
        self.unread.entry(to).or_default().insert(mail, delivery);
        if let MailBody::Result { task, activation } = body {
            self.results.insert(mail);
            assert!(self.sent_results.insert((*task, *activation)), "the result of {task} was sent twice");
            assert!(!self.awaited.contains(task), "the result of {task} was sent to a call and as mail");
        }
        if let Some((blocked_task, reason)) = self.blocked_end.take() {
            assert_eq!((blocked_task, Principal::Runtime, &MailBody::text(reason)), (to, from, body));
            self.block_reasons.entry(to).or_default().insert(mail);
        }
    }

    fn deliver(&mut self, id: TaskId, mail: &[MailId]) {
        assert!(mail.is_sorted(), "mail is delivered out of order");
        let kinds: Vec<MailDelivery> = mail.iter().map(|mail| self.unread[&id][mail]).collect();
        mail.iter().for_each(|mail| self.remove_unread(id, *mail));
        let still_unread = &self.unread[&id];
        for (mail, kind) in mail.iter().zip(kinds) {
            let overtaken = still_unread.range(..mail).any(|(_, other)| match (kind, other) {
                (MailDelivery::FollowUp, _) => true,
                (MailDelivery::Steer | MailDelivery::Interrupt, other) => *other != MailDelivery::FollowUp,
            });
            assert!(!overtaken, "{mail} overtook earlier mail");
        }
    }

    fn remove_unread(&mut self, id: TaskId, mail: MailId) {
        let settled = self.unread.get_mut(&id).and_then(|unread| unread.remove(&mail));
        assert!(settled.is_some(), "{mail} is not unread mail of {id}");
        self.block_reasons.entry(id).or_default().remove(&mail);
    }

    /// Checks that the kernel and the log agree on unread mail.
    pub(super) fn check(&self, kernel: &Kernel) {
        assert!(self.blocked_end.is_none(), "the end of a task was blocked and the reason was not sent");
        assert!(self.must_wake.is_empty(), "{:?} have unread results and no wake-up", self.must_wake);
        for task in kernel.tasks() {
            match self.unread.get(&task.id) {
                Some(unread) => assert_eq!(*unread, task.inbox),
                None => assert!(task.inbox.is_empty()),
            }
        }
    }
}
