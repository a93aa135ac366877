//! Changes of a session's owner: opening, adopting, forking, suspending and resuming.

use protocol::{
    CancelBy, CancelMode, Event, Fence, FleetEnd, ModelFault, ModelUse, OwnerLoss, ParkReason, SessionConfig,
    SessionId, TaskId, TaskOutcome, TaskSpec,
};

use super::cancel::AfterActivation;
use super::{DecisionDraft, WakePolicy};
use crate::state::SessionAdmission;
use crate::{ActivationWork, AgentDefinition, CallPhase, InputRefusal, KernelEffect, Parking, TaskPhase, call_answers};

impl DecisionDraft<'_> {
    pub(super) fn open(
        &mut self,
        root: TaskId,
        spec: TaskSpec,
        definition: Option<AgentDefinition>,
        config: SessionConfig,
    ) -> Result<(), InputRefusal> {
        if self.state.root.is_some() {
            return Err(InputRefusal::AlreadyOpen);
        }
        self.record(root, Event::SessionOpened(config))?;
        if let Some(AgentDefinition { id, spec }) = definition {
            self.record(root, Event::AgentDefined { id, spec })?;
        }
        self.record(root, Event::TaskCreated(Box::new(spec.into_root())))
    }

    /// Has the root use another agent definition, or the default one.
    pub(super) fn select_agent(
        &mut self,
        definition: Option<AgentDefinition>,
        model: Option<ModelUse>,
    ) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        let Some(AgentDefinition { id, spec }) = definition else {
            return self.record(root, Event::AgentSelected { agent: "main".into(), definition: None, model });
        };
        let agent = spec.name.clone();
        if !self.state.definitions.contains(&id) {
            self.record(root, Event::AgentDefined { id: id.clone(), spec })?;
        }
        self.record(root, Event::AgentSelected { agent, definition: Some(id), model })
    }

    pub(super) fn set_title(&mut self, title: String) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        self.record(root, Event::SessionTitled { title })
    }

    /// Records definitions that the log does not hold yet.
    pub(super) fn define(&mut self, definitions: Vec<AgentDefinition>) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        for AgentDefinition { id, spec } in definitions {
            if !self.state.definitions.contains(&id) {
                self.record(root, Event::AgentDefined { id, spec })?;
            }
        }
        Ok(())
    }

    /// Takes over the session and interrupts everything that ran under an older owner.
    pub(super) fn adopt(&mut self, fence: Fence, config: SessionConfig) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        self.record(root, Event::SessionAdopted { fence, config })?;
        if self.state.admission == SessionAdmission::Closed {
            self.record(root, Event::AdmissionOpened)?;
        }
        self.suspend()
    }

    pub(super) fn fork(&mut self, from: SessionId) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        self.record(root, Event::SessionForked { from })?;
        // The copied fleet continues in the original session.
        if self.state.graph.fleet().is_some() {
            self.end_fleet(FleetEnd::Stopped, None)?;
        }
        if self.state.admission == SessionAdmission::Open {
            self.record(root, Event::AdmissionClosed)?;
        }
        self.stop_running_tasks(root)
    }

    /// Stops running tasks. A task at rest stays as it is, unless a task above it is stopped.
    fn stop_running_tasks(&mut self, root: TaskId) -> Result<(), InputRefusal> {
        let (by, how) = (CancelBy::SessionEnd, CancelMode::Abort);
        let is_root_at_rest = self.task(root)?.phase.is_at_rest();
        if !is_root_at_rest {
            self.record(root, Event::CancelRequested { by, how, until_at: None })?;
        }
        for id in self.state.subtree(root).into_iter().skip(1) {
            if !self.task(id)?.phase.is_at_rest() {
                self.cancel(id, by, how)?;
            }
        }
        self.abort_objective(root, by)?;
        if is_root_at_rest { Ok(()) } else { self.abort(root, by, AfterActivation::Finish) }
    }

    pub(super) fn suspend(&mut self) -> Result<(), InputRefusal> {
        self.wake_policy = WakePolicy::Later;
        for id in self.all_task_ids() {
            if self.task(id)?.is_running() {
                self.interrupt_run(id)?;
            }
        }
        Ok(())
    }

    /// Interrupts a running task that lost its process: an agent can be continued later, a command cannot, and an
    /// external task only by a client.
    pub(super) fn interrupt_run(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        match self.task(id)?.kind.on_owner_loss() {
            OwnerLoss::Lost => self.close(id, TaskOutcome::Lost, String::new(), AfterActivation::Finish),
            OwnerLoss::Resume => self.interrupt_agent(id),
            OwnerLoss::Orphaned => self.orphan(id),
        }
    }

    /// Continues every interrupted task, and wakes those that have mail.
    pub(super) fn resume(&mut self) -> Result<(), InputRefusal> {
        for id in self.all_task_ids() {
            let task = self.task(id)?;
            match task.phase {
                TaskPhase::Interrupted if task.kind.on_owner_loss() == OwnerLoss::Orphaned => {}
                TaskPhase::Interrupted => self.requeue(id)?,
                TaskPhase::Idle => self.wake(id)?,
                // The key or the day's budget may have changed.
                TaskPhase::Parked(Parking { why: ParkReason::Auth | ParkReason::DayBudget, .. }) => self.requeue(id)?,
                TaskPhase::Queued(_) | TaskPhase::Running(_) | TaskPhase::Parked(_) | TaskPhase::Finished(_) => {}
            }
        }
        Ok(())
    }

    /// Interrupts a running agent: its running calls are answered as interrupted and never repeated; calls that have
    /// not started, or wait for other tasks, are left for the next attempt.
    fn interrupt_agent(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        let run = self.task(id)?.run_id();
        self.fail_turn(id, ModelFault::Interrupted)?;
        let running: Vec<_> = self
            .task(id)?
            .work
            .calls()
            .filter(|(_, phase)| **phase == CallPhase::Started)
            .map(|(call, _)| call.clone())
            .collect();
        for call in running {
            self.record(id, Event::CallAnswered { call, answer: call_answers::interrupted(), evidence: Vec::new() })?;
        }
        self.record(id, Event::TaskInterrupted)?;
        self.effects.push(KernelEffect::Stop { run, how: CancelMode::Abort });
        Ok(())
    }

    /// Ends a model call that will not be answered. Its cost is its input and the part of the answer that arrived; if
    /// that is unknown, the reservation.
    pub(super) fn fail_turn(&mut self, id: TaskId, fault: ModelFault) -> Result<(), InputRefusal> {
        let task = self.task(id)?;
        let ActivationWork::AwaitingModel(asking) = &task.work else { return Ok(()) };
        let cost = task.streamed_tokens.map_or(asking.reserved, |output| asking.cost(output));
        let turn = task.turn;
        self.record(id, Event::TurnFailed { turn, fault, message: String::new(), cost, retry: None })
    }
}
