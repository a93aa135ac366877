//! Mail is accepted, delivered at a boundary, or expires with its reader.

use protocol::{Activation, Event, MailBody, MailDelivery, MailId, ParkReason, Principal, RunId, TaskId, TaskType};

use super::DecisionDraft;
use crate::state::SessionAdmission;
use crate::{ActivationWork, BoundaryPoint, InputRefusal, KernelTask, NewMail, Parking, TaskPhase};

impl DecisionDraft<'_> {
    pub(super) fn send(&mut self, letter: NewMail) -> Result<(), InputRefusal> {
        let NewMail { to, from, delivery, body } = letter;
        let task = self.task(to)?;
        if task.is_finished() {
            return Err(InputRefusal::Ended(to));
        }
        if task.cancel.is_some() {
            return Err(InputRefusal::Stopping(to));
        }
        if task.kind == TaskType::Shell {
            return Err(InputRefusal::NoInbox(to));
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
            self.break_off(to)?;
        }
        let task = self.task(to)?;
        let is_mended = |why| matches!(why, ParkReason::Auth | ParkReason::DayBudget);
        if from == Principal::User && matches!(task.phase, TaskPhase::Parked(Parking { why, .. }) if is_mended(why)) {
            // Whoever writes to it wants it to try again.
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

    /// Delivers what may be read where the run stands.
    pub(super) fn boundary(&mut self, run: RunId, point: BoundaryPoint) -> Result<(), InputRefusal> {
        let task = self.current(run)?;
        if !task.work.is_between() {
            return Err(InputRefusal::InTurn);
        }
        if point == BoundaryPoint::End && self.may_rest_over(task) {
            return Ok(());
        }
        let mail = readable(task, point);
        if mail.is_empty() { Ok(()) } else { self.record(run.task, Event::MailDelivered { mail }) }
    }

    /// Whether a root that has said its word may rest although results wait: they wait for more of them, and wake it.
    pub(super) fn may_rest_over(&self, task: &KernelTask) -> bool {
        let done = task.kind == TaskType::Main
            && task.cancel.is_none()
            && task.work == ActivationWork::Answered { text: true };
        done && task.last_turn.is_none() && !task.inbox.is_empty() && self.is_gathering(task)
    }

    /// Drops what a running task is doing, so that it reads its mail now. The run sees it by its events: its model
    /// call has failed, its open calls are answered.
    fn break_off(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        if self.task(id)?.is_running() { self.drop_work(id) } else { Ok(()) }
    }

    /// Takes the mail about a result out of the inbox: its reader knows it.
    pub(super) fn result_read(&mut self, run: RunId, of: TaskId, activation: Activation) -> Result<(), InputRefusal> {
        let results = &self.current(run)?.results;
        let mail = results.iter().find(|(_, result)| **result == (of, activation)).map(|(mail, _)| *mail);
        mail.map_or(Ok(()), |mail| self.record(run.task, Event::MailExpired { mail }))
    }

    /// Tells that unread mail will never be read.
    pub(super) fn expire_mail(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        let unread: Vec<MailId> = self.task(id)?.inbox.keys().copied().collect();
        for mail in unread {
            self.record(id, Event::MailExpired { mail })?;
        }
        Ok(())
    }
}

/// The mail that may be read at this point: a follow-up waits for the end, unless it is what began the activation.
fn readable(task: &KernelTask, point: BoundaryPoint) -> Vec<MailId> {
    let all = point == BoundaryPoint::End || task.work == ActivationWork::Fresh;
    let readable = |delivery: MailDelivery| match delivery {
        MailDelivery::Steer | MailDelivery::Interrupt => true,
        MailDelivery::FollowUp => all,
    };
    task.inbox.iter().filter(|(_, delivery)| readable(**delivery)).map(|(mail, _)| *mail).collect()
}
