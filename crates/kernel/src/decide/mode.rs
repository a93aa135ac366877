//! The session's mode or model changes, and an agent on autopilot goes on or stops.

use protocol::{
    AutopilotStop, Body, CallId, CancelBy, Compaction, Completion, Delivery, Event, Limit, Origin, Outcome, Run,
    SessionMode, TaskId, Turn,
};

use super::Draft;
use super::spawn::expect_call;
use crate::{CallPhase, Phase, Refusal, Task};

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

    /// A conversation is made shorter while nobody has it under way.
    pub(super) fn compact(&mut self, id: TaskId, compaction: Compaction) -> Result<(), Refusal> {
        match self.task(id)?.phase {
            Phase::Idle => self.record(id, Event::Compacted(compaction)),
            Phase::Queued(_) | Phase::Running(_) | Phase::Parked(_) | Phase::Interrupted => Err(Refusal::InTurn),
            Phase::Finished(_) => Err(Refusal::Ended(id)),
        }
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

    /// Refuses a last turn for want of change to anybody but a root on autopilot for whom nobody works.
    pub(super) fn expect_unchanged(&self, id: TaskId) -> Result<(), Refusal> {
        let alone = self.state.root == Some(id) && self.state.busy == 1;
        if alone && self.state.helm.mode == SessionMode::Autopilot { Ok(()) } else { Err(Refusal::NotDue) }
    }

    /// Refuses the root a turn that its mode does not allow it.
    pub(super) fn expect_steered(&self, task: &Task) -> Result<(), Refusal> {
        let helm = &self.state.helm;
        if self.state.root != Some(task.id) || task.last.is_some() {
            return Ok(());
        }
        if let Some(why) = helm.closing {
            return Err(Refusal::Closing { why });
        }
        let limit = self.limits.autopilot_turns;
        // What wakes it is heard in any case.
        let limited = helm.mode == SessionMode::Autopilot && task.max_turns.is_none() && task.turns > 0;
        if limited && helm.turns >= limit { Err(Refusal::Turns { limit }) } else { Ok(()) }
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
            Outcome::TimedOut { limit: Limit::Turns } if heard => self.land(root, AutopilotStop::Limit)?,
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

    pub(super) fn land(&mut self, root: TaskId, why: AutopilotStop) -> Result<(), Refusal> {
        let Some(flight) = &self.state.helm.flight else { return Ok(()) };
        let continues = flight.continues;
        self.record(root, Event::AutopilotStopped { why, continues })
    }
}
