//! Mail: it is admitted to an inbox, and then delivered between turns or expired when the task ends.

use protocol::{Activation, Event, MailBody, MailDelivery, MailId, ParkReason, Principal, RunId, TaskId};

use super::DecisionDraft;
use crate::state::SessionAdmission;
use crate::{ActivationWork, BoundaryPoint, InputRefusal, KernelTask, NewMail, Parking, TaskPhase};

impl DecisionDraft<'_> {
    pub(super) fn send_mail(&mut self, mail: NewMail) -> Result<(), InputRefusal> {
        let NewMail { to, from, delivery, body } = mail;
        let task = self.task(to)?;
        if task.is_finished() {
            return Err(InputRefusal::Ended(to));
        }
        if task.cancel.is_some() {
            return Err(InputRefusal::Stopping(to));
        }
        if !task.kind.has_inbox() {
            return Err(InputRefusal::NoInbox { task: to, kind: task.kind });
        }
        match (self.state.admission, from) {
            (SessionAdmission::Open, _) => {}
            (SessionAdmission::Closed, Principal::User) => self.record(to, Event::AdmissionOpened)?,
            (SessionAdmission::Closed, Principal::Task { .. } | Principal::Runtime) => {
                return Err(InputRefusal::Closed);
            }
        }
        self.admit_mail(to, from, delivery, body)?;
        if delivery == MailDelivery::Interrupt {
            self.interrupt_work(to)?;
        }
        let task = self.task(to)?;
        let may_retry = |why| matches!(why, ParkReason::Auth | ParkReason::DayBudget);
        if from == Principal::User && matches!(task.phase, TaskPhase::Parked(Parking { why, .. }) if may_retry(why)) {
            // A user who writes to the task wants it to try again.
            return self.requeue(to);
        }
        self.wake(to)
    }

    /// Puts mail into an inbox.
    pub(super) fn admit_mail(
        &mut self,
        to: TaskId,
        from: Principal,
        delivery: MailDelivery,
        body: MailBody,
    ) -> Result<(), InputRefusal> {
        let mail = MailId(self.state.next_mail);
        self.record(to, Event::MailAdmitted { mail, from, delivery, body })
    }

    /// Delivers the mail that may be read at this point of the run.
    pub(super) fn deliver_mail(&mut self, run: RunId, point: BoundaryPoint) -> Result<(), InputRefusal> {
        let task = self.task_of_run(run)?;
        if !task.work.is_between_calls() {
            return Err(InputRefusal::TurnInProgress);
        }
        if point == BoundaryPoint::End && self.may_idle_with_results(task) {
            return Ok(());
        }
        let mail = readable(task, point);
        if mail.is_empty() { Ok(()) } else { self.record(run.task, Event::MailDelivered { mail }) }
    }

    /// Whether a root with a final message may become idle despite unread results, which wake it later together.
    pub(super) fn may_idle_with_results(&self, task: &KernelTask) -> bool {
        let has_final_message =
            task.kind.is_root() && task.cancel.is_none() && task.work == ActivationWork::Answered { text: true };
        has_final_message && task.last_turn.is_none() && !task.inbox.is_empty() && self.may_delay_results(task)
    }

    /// Ends the model call or tool calls of a running task, so that it reads its mail now. The run learns this from
    /// events: the model call failed, or the open calls were answered.
    fn interrupt_work(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        if self.task(id)?.is_running() { self.abandon_turn(id) } else { Ok(()) }
    }

    /// Expires the mail with a result of `source` that the run has already received from a tool call.
    pub(super) fn expire_read_result(
        &mut self,
        run: RunId,
        source: TaskId,
        activation: Activation,
    ) -> Result<(), InputRefusal> {
        let results = &self.task_of_run(run)?.results;
        let mail = results.iter().find(|(_, result)| **result == (source, activation)).map(|(mail, _)| *mail);
        mail.map_or(Ok(()), |mail| self.record(run.task, Event::MailExpired { mail }))
    }

    /// Expires the unread mail of a task that has ended.
    pub(super) fn expire_mail(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        let unread: Vec<MailId> = self.task(id)?.inbox.keys().copied().collect();
        for mail in unread {
            self.record(id, Event::MailExpired { mail })?;
        }
        Ok(())
    }
}

/// The mail that may be read at this point: a follow-up waits for the end, unless it started the activation.
fn readable(task: &KernelTask, point: BoundaryPoint) -> Vec<MailId> {
    let includes_follow_ups = point == BoundaryPoint::End || task.work == ActivationWork::NotBegun;
    let is_readable = |delivery: MailDelivery| match delivery {
        MailDelivery::Steer | MailDelivery::Interrupt => true,
        MailDelivery::FollowUp => includes_follow_ups,
    };
    task.inbox.iter().filter(|(_, delivery)| is_readable(**delivery)).map(|(mail, _)| *mail).collect()
}
