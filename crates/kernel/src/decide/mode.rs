//! The session's mode or model changes, and an agent on autopilot goes on or stops.

use protocol::{
    AutopilotStop, Body, CallId, CancelBy, Completion, Delivery, Event, Origin, Outcome, Run, SessionMode, TaskId, Turn,
};

use super::Draft;
use super::spawn::expect_call;
use crate::{CallPhase, Refusal};

/// How often the root is told to go on while nothing changes.
const UNCHANGED: u32 = 2;

impl Draft<'_> {
    pub(super) fn set_mode(&mut self, mode: SessionMode, by: Origin) -> Result<(), Refusal> {
        let root = self.state.root.ok_or(Refusal::Closed)?;
        if self.state.helm.mode == mode && !self.state.helm.leaving {
            return Ok(());
        }
        self.record(root, Event::ModeChanged { mode, by })
    }

    pub(super) fn set_model(&mut self, model: String, by: Origin) -> Result<(), Refusal> {
        let root = self.state.root.ok_or(Refusal::Closed)?;
        if self.state.helm.model.as_ref() == Some(&model) {
            return Ok(());
        }
        self.record(root, Event::ModelChanged { model, by })
    }

    /// Tells the root to go on, unless it was told often enough.
    pub(super) fn go_on(&mut self, state: String, text: String) -> Result<(), Refusal> {
        let root = self.state.root.ok_or(Refusal::Closed)?;
        let Some(flight) = self.state.helm.flight.as_ref().filter(|_| self.state.is_continuation_due()) else {
            return Err(Refusal::NotDue);
        };
        if flight.unchanged(&state) >= UNCHANGED {
            return self.land(root, AutopilotStop::NoChange);
        }
        let count = flight.continues + 1;
        if count > self.limits.continues {
            return self.land(root, AutopilotStop::Limit);
        }
        self.record(root, Event::AutopilotContinued { count, state })?;
        self.admit_mail(root, Origin::Runtime, Delivery::FollowUp, Body::text(text))?;
        self.wake(root)
    }

    /// Takes the root's own word on its objective.
    pub(super) fn complete(
        &mut self,
        run: Run,
        turn: Turn,
        call: &CallId,
        completion: Completion,
    ) -> Result<(), Refusal> {
        expect_call(self.current(run)?, turn, call, &CallPhase::Started)?;
        if self.state.root != Some(run.task) || self.state.helm.flight.is_none() {
            return Err(Refusal::NoObjective);
        }
        self.land(
            run.task,
            match completion {
                Completion::Done { summary } => AutopilotStop::Complete { summary },
                Completion::Blocked { summary, reason } => AutopilotStop::Blocked { summary, reason },
            },
        )
    }

    /// Refuses a plan of anybody who does not plan.
    pub(super) fn expect_planning(&self, id: TaskId) -> Result<(), Refusal> {
        let plans = self.state.root == Some(id) && self.state.helm.mode == SessionMode::Plan;
        if plans && !self.state.helm.leaving { Ok(()) } else { Err(Refusal::NoPlan) }
    }

    /// Somebody stops the root: its objective is over, even while it rests and others work for it.
    pub(super) fn abort_flight(&mut self, id: TaskId, by: CancelBy) -> Result<(), Refusal> {
        if self.state.root == Some(id) { self.land(id, AutopilotStop::Aborted { by }) } else { Ok(()) }
    }

    /// The root's activation has ended. Unless it did with an answer, there is no use in telling it to go on.
    pub(super) fn root_ended(&mut self, root: TaskId, outcome: &Outcome) -> Result<(), Refusal> {
        let heard = self.task(root)?.inbox.is_empty();
        match outcome {
            Outcome::Failed { .. } | Outcome::TimedOut { .. } | Outcome::BudgetExhausted | Outcome::Lost if heard => {
                self.land(root, AutopilotStop::Failed)?;
            }
            Outcome::Completed
            | Outcome::Cancelled { .. }
            | Outcome::Failed { .. }
            | Outcome::TimedOut { .. }
            | Outcome::BudgetExhausted
            | Outcome::Lost => {}
        }
        if self.state.helm.leaving { self.set_mode(SessionMode::Interactive, Origin::Runtime) } else { Ok(()) }
    }

    fn land(&mut self, root: TaskId, why: AutopilotStop) -> Result<(), Refusal> {
        let Some(flight) = &self.state.helm.flight else { return Ok(()) };
        let continues = flight.continues;
        self.record(root, Event::AutopilotStopped { why, continues })
    }
}
