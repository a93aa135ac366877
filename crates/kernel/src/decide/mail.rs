//! Mail is accepted, delivered at a boundary, or expires with its reader.

use protocol::{Activation, Body, Delivery, Event, Kind, MailId, Origin, ParkReason, Run, TaskId};

use super::Draft;
use crate::state::Admission;
use crate::{Letter, Parking, Phase, Point, Refusal, Task, Work};

impl Draft<'_> {
    pub(super) fn send(&mut self, letter: Letter) -> Result<(), Refusal> {
        let Letter { to, from, delivery, body } = letter;
        let task = self.task(to)?;
        if task.is_finished() {
            return Err(Refusal::Ended(to));
        }
        if task.cancel.is_some() {
            return Err(Refusal::Stopping(to));
        }
        if task.kind == Kind::Shell {
            return Err(Refusal::NoInbox(to));
        }
        match (self.state.admission, from) {
            (Admission::Open, _) => {}
            (Admission::Closed, Origin::User) => self.record(to, Event::AdmissionOpened)?,
            (Admission::Closed, Origin::Task { .. } | Origin::Runtime) => return Err(Refusal::Closed),
        }
        self.admit_mail(to, from, delivery, body)?;
        if delivery == Delivery::Interrupt {
            self.break_off(to)?;
        }
        let task = self.task(to)?;
        let is_mended = |why| matches!(why, ParkReason::Auth | ParkReason::DayBudget);
        if from == Origin::User && matches!(task.phase, Phase::Parked(Parking { why, .. }) if is_mended(why)) {
            // Whoever writes to it wants it to try again.
            return self.requeue(to);
        }
        self.wake(to)
    }

    /// Puts mail into an inbox.
    pub(super) fn admit_mail(
        &mut self,
        to: TaskId,
        from: Origin,
        delivery: Delivery,
        body: Body,
    ) -> Result<(), Refusal> {
        let mail = MailId(self.state.next_mail);
        self.record(to, Event::MailAdmitted { mail, from, delivery, body })
    }

    /// Delivers what may be read where the run stands.
    pub(super) fn boundary(&mut self, run: Run, point: Point) -> Result<(), Refusal> {
        let task = self.current(run)?;
        if !task.work.is_between() {
            return Err(Refusal::InTurn);
        }
        if point == Point::End && self.may_rest_over(task) {
            return Ok(());
        }
        let mail = readable(task, point);
        if mail.is_empty() { Ok(()) } else { self.record(run.task, Event::MailDelivered { mail }) }
    }

    /// Whether a root that has said its word may rest although results wait: they wait for more of them, and wake it.
    pub(super) fn may_rest_over(&self, task: &Task) -> bool {
        let done = task.kind == Kind::Main && task.cancel.is_none() && task.work == Work::Answered { text: true };
        done && task.last.is_none() && !task.inbox.is_empty() && self.is_gathering(task)
    }

    /// Drops what a running task is doing, so that it reads its mail now. The run sees it by its events: its model
    /// call has failed, its open calls are answered.
    fn break_off(&mut self, id: TaskId) -> Result<(), Refusal> {
        if self.task(id)?.is_running() { self.drop_work(id) } else { Ok(()) }
    }

    /// Takes the mail about a result out of the inbox: its reader knows it.
    pub(super) fn result_read(&mut self, run: Run, of: TaskId, activation: Activation) -> Result<(), Refusal> {
        let results = &self.current(run)?.results;
        let mail = results.iter().find(|(_, result)| **result == (of, activation)).map(|(mail, _)| *mail);
        mail.map_or(Ok(()), |mail| self.record(run.task, Event::MailExpired { mail }))
    }

    /// Tells that unread mail will never be read.
    pub(super) fn expire_mail(&mut self, id: TaskId) -> Result<(), Refusal> {
        let unread: Vec<MailId> = self.task(id)?.inbox.keys().copied().collect();
        for mail in unread {
            self.record(id, Event::MailExpired { mail })?;
        }
        Ok(())
    }
}

/// The mail that may be read at this point: a follow-up waits for the end, unless it is what began the activation.
fn readable(task: &Task, point: Point) -> Vec<MailId> {
    let all = point == Point::End || task.work == Work::Fresh;
    let readable = |delivery: Delivery| match delivery {
        Delivery::Steer | Delivery::Interrupt => true,
        Delivery::FollowUp => all,
    };
    task.inbox.iter().filter(|(_, delivery)| readable(**delivery)).map(|(mail, _)| *mail).collect()
}
