//! What happens to a session from outside its runs: people, hooks, watchers, time, and owners that die.

use protocol::*;

use super::asks::AskAudit;
use super::checks;
use super::simulated_session::{FREE, SimulatedSession, begin};
use crate::*;

impl SimulatedSession {
    pub(super) fn somebody_writes(&mut self) {
        let Some(to) = self.any_task() else { return };
        let delivery = match self.dice.below(4) {
            0 => MailDelivery::FollowUp,
            1 => MailDelivery::Interrupt,
            _ => MailDelivery::Steer,
        };
        let from = match (self.dice.below(3), self.any_task()) {
            (0, Some(id)) => Principal::Task { id },
            (1, _) => Principal::Runtime,
            (_, _) => Principal::User,
        };
        let body = MailBody::text("psst");
        let _refusal = self.may(KernelInput::Send(NewMail { to, from, delivery, body }));
    }

    pub(super) fn somebody_cancels(&mut self) {
        let Some(task) = self.any_task() else { return };
        let how = if self.dice.one_in(2) { CancelMode::WrapUp } else { CancelMode::Abort };
        let _refusal = self.may(KernelInput::Cancel { task, by: CancelBy::User, how });
    }

    pub(super) fn somebody_interrupts(&mut self) {
        let Some(task) = self.any_task() else { return };
        let _refusal = self.may(KernelInput::Interrupt(task));
    }

    pub(super) fn somebody_promotes(&mut self) {
        let Some(task) = self.any_task() else { return };
        let _refusal = self.may(KernelInput::Promote(task));
    }

    pub(super) fn a_lease_is_granted(&mut self) {
        let runs: Vec<RunId> = self.active.values().copied().collect();
        let Some(run) = self.dice.pick(&runs) else { return };
        let until = Timestamp(self.now.0 + self.dice.below(60));
        let _refusal = self.may(KernelInput::Lease { run, until });
    }

    pub(super) fn everything_stops(&mut self) {
        if self.dice.one_in(3) {
            self.must(KernelInput::Stop { by: CancelBy::User });
        } else if self.dice.one_in(4) {
            let from = SessionId::new(self.new_id().uuid());
            self.must(KernelInput::Fork { from });
        }
    }

    /// The process is gone: a new one folds the log, adopts the session and lets it go on.
    pub(super) fn the_owner_dies(&mut self) {
        let mut reborn = Kernel::new(self.limits.clone());
        for entry in &self.log {
            reborn.evolve(entry).unwrap();
        }
        checks::same_but_for_leases_and_memory(&self.kernel, &reborn);
        self.kernel = reborn;
        self.old.extend(std::mem::take(&mut self.active).into_values());
        self.fence += 1;
        self.must(KernelInput::Adopt { fence: Fence(self.fence), config: self.terms.clone() });
        checks::nobody_runs(&self.kernel);
        self.must(KernelInput::Resume);
    }

    pub(super) fn the_owner_leaves(&mut self) {
        self.must(KernelInput::Suspend);
        checks::nobody_runs(&self.kernel);
        self.the_owner_dies();
    }

    pub(super) fn an_old_run_reports(&mut self) {
        let Some(run) = self.dice.pick(&self.old) else { return };
        let report = match self.dice.below(3) {
            0 => RunUpdate::Ended { ending: RunEnding::Completed, text: "late".into() },
            1 => RunUpdate::Boundary(BoundaryPoint::Between),
            _ => begin(FREE),
        };
        let before = self.kernel.clone();
        let result = self.kernel.apply(self.now, KernelInput::Report(run, report));
        assert_eq!(result, Err(InputRefusal::Stale));
        assert_eq!(self.kernel, before);
    }

    pub(super) fn tick(&mut self) {
        self.must(KernelInput::Tick);
        AskAudit::expired(&self.kernel, self.now);
        checks::no_alarm_is_late(&self.kernel, self.now);
    }

    /// How much memory is left is nothing that a log would know.
    pub(super) fn memory_changes(&mut self) {
        let memory = if self.dice.one_in(3) { MemoryPressure::Tight } else { MemoryPressure::Ample };
        self.must(KernelInput::Memory(memory));
    }

    /// A watcher finds a run silent, or hears from it.
    pub(super) fn somebody_watches(&mut self) {
        let runs: Vec<RunId> = self.active.values().copied().collect();
        let Some(run) = self.dice.pick(&runs) else { return };
        let since = Timestamp(self.now.0.saturating_sub(10));
        let input = if self.dice.one_in(3) { KernelInput::Unstall(run) } else { KernelInput::Stall { run, since } };
        self.must(input);
    }

    /// Stop hooks have run for an activation, of whatever task, under whatever owner.
    pub(super) fn stop_hooks_run(&mut self) {
        let Some(task) = self.any_task() else { return };
        let activation = Activation(1 + self.dice.below(3) as u32);
        match self.may(KernelInput::StopHooksRan { task, activation }) {
            None | Some(InputRefusal::MailWaiting) => {}
            Some(refusal) => panic!("{refusal}"),
        }
    }

    /// Parts from everything that was greeted.
    pub(super) fn run_all_stop_hooks(&mut self) {
        let unpaired = |task: &KernelTask| task.pending_stop_hooks.iter().map(|of| (task.id, *of)).collect::<Vec<_>>();
        for (task, activation) in self.kernel.tasks().flat_map(unpaired).collect::<Vec<_>>() {
            self.must(KernelInput::StopHooksRan { task, activation });
        }
    }

    /// A task is started from outside, below whichever.
    pub(super) fn somebody_starts_one(&mut self) {
        let Some(parent) = self.any_task() else { return };
        let kind = if self.dice.one_in(3) { TaskType::Shell } else { TaskType::Agent };
        let spec = self.spec(kind, TaskMode::Background, CompletionPolicy::Finish, Some(parent));
        let (id, prompt) = (self.new_id(), "work".into());
        let spawn = TaskSpawn { id, spec, prompt, by: None, until: None, definition: None };
        if let Some(refusal) = self.may(KernelInput::Spawn(spawn)) {
            self.audit.refused(&self.limits, self.now, parent, &refusal);
        }
    }

    pub(super) fn somebody_forgets(&mut self) {
        let Some(task) = self.any_task() else { return };
        let ended = self.kernel.task(task).is_some_and(KernelTask::is_finished);
        assert_eq!(self.may(KernelInput::Forget(task)).is_none(), ended);
    }
}
