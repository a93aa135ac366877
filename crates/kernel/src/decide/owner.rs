//! A session's owner comes, goes, or dies.

use protocol::{
    Cancel, CancelBy, Event, Fence, FleetEnd, Kind, ModelFault, ModelUse, Outcome, ParkReason, SessionId, TaskId,
    TaskSpec, Terms,
};

use super::cancel::After;
use super::{Draft, Wakes};
use crate::state::Admission;
use crate::{CallPhase, Definition, Effect, Parking, Phase, Refusal, Work, words};

impl Draft<'_> {
    pub(super) fn open(
        &mut self,
        root: TaskId,
        spec: TaskSpec,
        definition: Option<Definition>,
        terms: Terms,
    ) -> Result<(), Refusal> {
        if self.state.root.is_some() {
            return Err(Refusal::AlreadyOpen);
        }
        self.record(root, Event::SessionOpened(terms))?;
        if let Some(Definition { id, spec }) = definition {
            self.record(root, Event::AgentDefined { id, spec })?;
        }
        self.record(root, Event::TaskCreated(Box::new(TaskSpec { parent: None, kind: Kind::Main, ..spec })))
    }

    /// Has the root go on as another agent, or as the usual one.
    pub(super) fn select_agent(
        &mut self,
        definition: Option<Definition>,
        model: Option<ModelUse>,
    ) -> Result<(), Refusal> {
        let root = self.state.root.ok_or(Refusal::Closed)?;
        let Some(Definition { id, spec }) = definition else {
            return self.record(root, Event::AgentSelected { agent: "main".into(), definition: None, model });
        };
        let agent = spec.name.clone();
        if !self.state.defined.contains(&id) {
            self.record(root, Event::AgentDefined { id: id.clone(), spec })?;
        }
        self.record(root, Event::AgentSelected { agent, definition: Some(id), model })
    }

    /// Keeps definitions that the log does not hold.
    pub(super) fn define(&mut self, definitions: Vec<Definition>) -> Result<(), Refusal> {
        let root = self.state.root.ok_or(Refusal::Closed)?;
        for Definition { id, spec } in definitions {
            if !self.state.defined.contains(&id) {
                self.record(root, Event::AgentDefined { id, spec })?;
            }
        }
        Ok(())
    }

    /// Everything that ran under an older owner is interrupted.
    pub(super) fn adopt(&mut self, fence: Fence, terms: Terms) -> Result<(), Refusal> {
        let root = self.state.root.ok_or(Refusal::Closed)?;
        self.record(root, Event::SessionAdopted { fence, terms })?;
        if self.state.admission == Admission::Closed {
            self.record(root, Event::AdmissionOpened)?;
        }
        self.orphan_all()?;
        self.suspend()
    }

    pub(super) fn fork(&mut self, from: SessionId) -> Result<(), Refusal> {
        let root = self.state.root.ok_or(Refusal::Closed)?;
        self.record(root, Event::SessionForked { from })?;
        // The fleet that was copied works in the original.
        if self.state.graph.fleet().is_some() {
            self.end_fleet(FleetEnd::Stopped)?;
        }
        if self.state.admission == Admission::Open {
            self.record(root, Event::AdmissionClosed)?;
        }
        self.stop_under_way(root)
    }

    /// Stops what is under way. Whoever rests goes on resting, unless the task that it works for is stopped.
    fn stop_under_way(&mut self, root: TaskId) -> Result<(), Refusal> {
        let (by, how) = (CancelBy::SessionEnd, Cancel::Abort);
        let rests = self.task(root)?.phase.is_at_rest();
        if !rests {
            self.record(root, Event::CancelRequested { by, how, until_at: None })?;
        }
        for id in self.state.subtree(root).into_iter().skip(1) {
            if !self.task(id)?.phase.is_at_rest() {
                self.cancel(id, by, how)?;
            }
        }
        self.abort_flight(root, by)?;
        if rests { Ok(()) } else { self.halt(root, by, After::Finish) }
    }

    pub(super) fn suspend(&mut self) -> Result<(), Refusal> {
        self.wakes = Wakes::Later;
        for id in self.all() {
            if self.task(id)?.is_running() {
                self.let_go(id)?;
            }
        }
        Ok(())
    }

    /// A running task loses its holder: an agent can go on later, a command cannot.
    pub(super) fn let_go(&mut self, id: TaskId) -> Result<(), Refusal> {
        match self.task(id)?.kind {
            Kind::Shell => self.close(id, Outcome::Lost, String::new(), After::Finish),
            Kind::Main | Kind::Agent => self.cut_off(id),
        }
    }

    /// Lets every interrupted task go on, and wakes those that have mail.
    pub(super) fn resume(&mut self) -> Result<(), Refusal> {
        for id in self.all() {
            match self.task(id)?.phase {
                Phase::Interrupted => self.requeue(id)?,
                Phase::Idle => self.wake(id)?,
                // The key, or the budget of the day, may be another by now.
                Phase::Parked(Parking { why: ParkReason::Auth | ParkReason::DayBudget, .. }) => self.requeue(id)?,
                Phase::Queued(_) | Phase::Running(_) | Phase::Parked(_) | Phase::Finished(_) => {}
            }
        }
        Ok(())
    }

    /// Interrupts a running task: what ran is answered as interrupted and never repeated; what had not
    /// started, or waits for other tasks, is left for the next attempt.
    fn cut_off(&mut self, id: TaskId) -> Result<(), Refusal> {
        let run = self.task(id)?.run();
        self.fail_turn(id, ModelFault::Interrupted)?;
        let running: Vec<_> = self
            .task(id)?
            .work
            .calls()
            .filter(|(_, phase)| **phase == CallPhase::Started)
            .map(|(call, _)| call.clone())
            .collect();
        for call in running {
            self.record(id, Event::CallAnswered { call, answer: words::interrupted(), evidence: Vec::new() })?;
        }
        self.record(id, Event::TaskInterrupted)?;
        self.effects.push(Effect::Stop { run, how: Cancel::Abort });
        Ok(())
    }

    /// Ends a model call that will not be answered. It is booked at its input and what of the answer had arrived; if
    /// that is not known, at what was set aside.
    pub(super) fn fail_turn(&mut self, id: TaskId, fault: ModelFault) -> Result<(), Refusal> {
        let task = self.task(id)?;
        let Work::Asking(asking) = &task.work else { return Ok(()) };
        let cost = task.streamed.map_or(asking.reserved, |output| asking.cost(output));
        let turn = task.turn;
        self.record(id, Event::TurnFailed { turn, fault, message: String::new(), cost, retry: None })
    }
}
