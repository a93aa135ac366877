//! External tasks in random histories: clients start, update and lose them, and [`ExternalTaskAudit`] checks what is
//! recorded of them.

use std::collections::BTreeMap;

use protocol::*;

use super::simulated_session::SimulatedSession;
use crate::*;

impl SimulatedSession {
    pub(super) fn change_external_task(&mut self) {
        let name = ExternalTaskId(format!("x{}", self.rng.below(2)));
        let owner = format!("client{}", self.rng.below(2));
        let spec = ExternalTaskSpec { id: name.clone(), title: None, cancellable: true, owner: owner.clone() };
        let Some(known) = self.kernel.external_task(&name).cloned() else { return self.start_external_task(spec) };
        let (task, report) = (known.id, known.external.as_deref().unwrap());
        let input = match self.rng.below(8) {
            // A finished task can only be forgotten.
            0..3 if known.is_finished() => KernelInput::Forget(task),
            0..3 => KernelInput::ClaimExternalTask(ExternalTaskClaim {
                task,
                spec,
                expected: Some(self.rng.below(4)).filter(|_| self.rng.one_in(4)),
            }),
            3..6 => KernelInput::UpdateExternalTask(ExternalTaskUpdate {
                task,
                owner: owner.clone(),
                sequence: report.sequence + self.rng.below(3),
                progress: vec![self.random_progress()],
            }),
            6 => KernelInput::OrphanExternalTasks { owner: owner.clone() },
            _ => return self.start_external_task(spec),
        };
        if let Some(InputRefusal::ExternalTaskNotOwned(_)) = self.try_apply(input) {
            assert!(owner != report.spec.owner || !known.is_running(), "{owner} owns {known:?}");
        }
    }

    fn start_external_task(&mut self, external: ExternalTaskSpec) {
        let Some(root) = self.kernel.root() else { return };
        let is_known = self.kernel.external_task(&external.id).is_some();
        let spec = TaskSpec { parent: Some(root), ..TaskSpec::external("x", external) };
        let (id, prompt) = (self.new_id(), "builds".into());
        let spawn = TaskSpawn { id, spec, prompt, by: None, until: None, definition: None, redo_reason: None };
        let refusal = self.try_apply(KernelInput::Spawn(spawn));
        assert!(!is_known || refusal.is_some(), "two external tasks have one name");
    }

    /// Stops the external tasks whose client is gone and never returns. Returns whether there were any.
    pub(super) fn stop_orphans(&mut self) -> bool {
        let is_orphan = |task: &&KernelTask| {
            task.phase == TaskPhase::Interrupted && task.kind.on_owner_loss() == OwnerLoss::Orphaned
        };
        let orphans: Vec<TaskId> = self.kernel.tasks().filter(is_orphan).map(|task| task.id).collect();
        for task in &orphans {
            let (by, how) = (CancelBy::User, CancelMode::Abort);
            self.apply_accepted(KernelInput::Cancel { task: *task, by, how });
        }
        !orphans.is_empty()
    }

    fn random_progress(&mut self) -> ExternalTaskProgress {
        match self.rng.below(6) {
            0 => ExternalTaskProgress::Running,
            1 => ExternalTaskProgress::Idle,
            2 => ExternalTaskProgress::Percent { percent: Some(self.rng.below(101) as u8) },
            3 => ExternalTaskProgress::Phase { phase: None },
            4 => ExternalTaskProgress::Message { text: "half way".into() },
            _ => ExternalTaskProgress::Ended { end: ExternalTaskEnd::Completed { result: None } },
        }
    }
}

/// The reports on external tasks according to the log.
#[derive(Default)]
pub(super) struct ExternalTaskAudit(BTreeMap<TaskId, ExternalReport>);

impl ExternalTaskAudit {
    pub(super) fn check_event(&mut self, entry: &LogEntry) {
        match &entry.event {
            Event::TaskCreated(spec) => {
                let report = spec.external.clone().map(|spec| ExternalReport::new(*spec, entry.at));
                self.0.extend(report.map(|report| (entry.task, report)));
            }
            Event::ExternalTaskReported { report } => {
                let before = self.0.insert(entry.task, report.as_ref().clone()).expect("it was created");
                assert!(before.end.is_none(), "{report:?} changed after its end");
                assert!(before.sequence <= report.sequence, "an old update of {report:?} was applied");
                let changed_owner = before.spec.owner != report.spec.owner;
                let was_stopped = before.activity == ExternalActivity::Stopped;
                assert!(!changed_owner || was_stopped, "{report:?} was taken from its owner");
            }
            _other => {}
        }
    }

    /// Checks that the kernel and the log agree, and that a task runs exactly while a client owns it.
    pub(super) fn check(&self, kernel: &Kernel) {
        for (id, report) in &self.0 {
            let task = kernel.task(*id).expect("it was created");
            assert_eq!(task.external.as_deref(), Some(report));
            let is_owned = report.activity != ExternalActivity::Stopped;
            assert!(task.is_running() == is_owned || task.is_finished(), "{task:?}");
        }
    }
}
