//! Random inputs from outside the runs: from people, hooks and the watchdog, the passing of time, and owners that die.

use protocol::*;

use super::asks::AskAudit;
use super::checks;
use super::simulated_session::{FREE_QUOTE, SimulatedSession, turn_begun};
use crate::*;

impl SimulatedSession {
    pub(super) fn send_random_mail(&mut self) {
        let Some(to) = self.random_task() else { return };
        let delivery = match self.rng.below(4) {
            0 => MailDelivery::FollowUp,
            1 => MailDelivery::Interrupt,
            _ => MailDelivery::Steer,
        };
        let from = match (self.rng.below(3), self.random_task()) {
            (0, Some(id)) => Principal::Task { id },
            (1, _) => Principal::Runtime,
            (_, _) => Principal::User,
        };
        let body = MailBody::text("psst");
        let _refusal = self.try_apply(KernelInput::Send(NewMail { to, from, delivery, body }));
    }

    pub(super) fn cancel_random_task(&mut self) {
        let Some(task) = self.random_task() else { return };
        let how = if self.rng.one_in(2) { CancelMode::WrapUp } else { CancelMode::Abort };
        let _refusal = self.try_apply(KernelInput::Cancel { task, by: CancelBy::User, how });
    }

    pub(super) fn interrupt_random_task(&mut self) {
        let Some(task) = self.random_task() else { return };
        let _refusal = self.try_apply(KernelInput::Interrupt(task));
    }

    pub(super) fn promote_random_task(&mut self) {
        let Some(task) = self.random_task() else { return };
        let _refusal = self.try_apply(KernelInput::Promote(task));
    }

    pub(super) fn set_random_lease(&mut self) {
        let runs: Vec<RunId> = self.active.values().copied().collect();
        let Some(run) = self.rng.pick(&runs) else { return };
        let until = Timestamp(self.now.0 + self.rng.below(60));
        let _refusal = self.try_apply(KernelInput::Lease { run, until });
    }

    pub(super) fn stop_or_fork_session(&mut self) {
        if self.rng.one_in(3) {
            self.apply_accepted(KernelInput::Stop { by: CancelBy::User });
        } else if self.rng.one_in(4) {
            let from = SessionId::new(self.new_id().uuid());
            self.apply_accepted(KernelInput::Fork { from });
        }
    }

    /// Replaces the owner: a new process replays the log, adopts the session and resumes it.
    pub(super) fn replace_dead_owner(&mut self) {
        let mut rebuilt = Kernel::new(self.limits.clone());
        for entry in &self.log {
            rebuilt.apply_event(entry).unwrap();
        }
        checks::assert_same_durable_state(&self.kernel, &rebuilt);
        self.kernel = rebuilt;
        self.ended_runs.extend(std::mem::take(&mut self.active).into_values());
        self.fence += 1;
        self.apply_accepted(KernelInput::Adopt { fence: Fence(self.fence), config: self.config.clone() });
        checks::assert_nothing_runs(&self.kernel);
        self.apply_accepted(KernelInput::Resume);
    }

    pub(super) fn replace_leaving_owner(&mut self) {
        self.apply_accepted(KernelInput::Suspend);
        checks::assert_nothing_runs(&self.kernel);
        self.replace_dead_owner();
    }

    pub(super) fn report_from_ended_run(&mut self) {
        let Some(run) = self.rng.pick(&self.ended_runs) else { return };
        let report = match self.rng.below(3) {
            0 => RunUpdate::Ended { ending: RunEnding::Completed, text: "late".into() },
            1 => RunUpdate::Boundary(BoundaryPoint::BetweenTurns),
            _ => turn_begun(FREE_QUOTE),
        };
        let before = self.kernel.clone();
        let result = self.kernel.decide(self.now, KernelInput::Report(run, report));
        assert_eq!(result, Err(InputRefusal::StaleRun));
        assert_eq!(self.kernel, before);
    }

    pub(super) fn tick(&mut self) {
        self.apply_accepted(KernelInput::Tick);
        AskAudit::check_deadlines(&self.kernel, self.now);
        checks::assert_no_late_alarm(&self.kernel, self.now);
    }

    /// Changes the memory pressure, which the log does not record.
    pub(super) fn change_memory_pressure(&mut self) {
        let memory = if self.rng.one_in(3) { MemoryPressure::Tight } else { MemoryPressure::Ample };
        self.apply_accepted(KernelInput::Memory(memory));
    }

    /// Reports as the watchdog that a run is silent or active again.
    pub(super) fn stall_random_run(&mut self) {
        let runs: Vec<RunId> = self.active.values().copied().collect();
        let Some(run) = self.rng.pick(&runs) else { return };
        let since = Timestamp(self.now.0.saturating_sub(10));
        let input = if self.rng.one_in(3) { KernelInput::Unstall(run) } else { KernelInput::Stall { run, since } };
        self.apply_accepted(input);
    }

    /// Reports that stop hooks ran for an activation of any task, which any owner may do.
    pub(super) fn run_random_stop_hooks(&mut self) {
        let Some(task) = self.random_task() else { return };
        let activation = Activation(1 + self.rng.below(3) as u32);
        match self.try_apply(KernelInput::StopHooksRan { task, activation }) {
            None | Some(InputRefusal::MailWaiting) => {}
            Some(refusal) => panic!("{refusal}"),
        }
    }

    /// Runs the stop hooks of every activation whose start hooks ran.
    pub(super) fn run_all_stop_hooks(&mut self) {
        let pending_of = |task: &KernelTask| {
            task.pending_stop_hooks.iter().map(|activation| (task.id, *activation)).collect::<Vec<_>>()
        };
        for (task, activation) in self.kernel.tasks().flat_map(pending_of).collect::<Vec<_>>() {
            self.apply_accepted(KernelInput::StopHooksRan { task, activation });
        }
    }

    /// Starts a task below any task, not through a call.
    pub(super) fn start_random_task(&mut self) {
        let Some(parent) = self.random_task() else { return };
        let kind = self.random_kind(3);
        let spec = self.random_spec(kind, TaskMode::Background, CompletionPolicy::Finish, Some(parent));
        let (id, prompt) = (self.new_id(), "work".into());
        let spawn = TaskSpawn { id, spec, prompt, by: None, until: None, definition: None, redo_reason: None };
        if let Some(refusal) = self.try_apply(KernelInput::Spawn(spawn)) {
            self.audit.check_spawn_refusal(&self.limits, self.now, parent, &refusal);
        }
    }

    pub(super) fn forget_random_task(&mut self) {
        let Some(task) = self.random_task() else { return };
        let is_finished = self.kernel.task(task).is_some_and(KernelTask::is_finished);
        assert_eq!(self.try_apply(KernelInput::Forget(task)).is_none(), is_finished);
    }
}
