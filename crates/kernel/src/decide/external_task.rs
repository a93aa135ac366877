//! External tasks: work that clients do themselves and report. Only the connection that owns an external task may
//! report on it, and each report is applied once. When its client is gone, the task is interrupted until another
//! connection claims it.

use protocol::{
    CancelBy, CancelMode, Event, ExternalActivity, ExternalReport, ExternalTaskEnd, ExternalTaskSpec, FailKind, TaskId,
    TaskOutcome, TaskSpec,
};

use super::DecisionDraft;
use super::cancel::AfterActivation;
use crate::state::SessionAdmission;
use crate::{ExternalTaskClaim, ExternalTaskUpdate, InputRefusal, KernelEffect, TaskPhase};

/// The maximum number of external tasks that a session keeps, besides those that were removed.
const MAX_EXTERNAL_TASKS: usize = 1_000;

impl DecisionDraft<'_> {
    /// Checks that an external task of this name may start.
    pub(super) fn expect_room_for_external(&self, spec: &TaskSpec) -> Result<(), InputRefusal> {
        let Some(ExternalTaskSpec { id, .. }) = spec.external.as_deref() else { return Ok(()) };
        if let Some(known) = self.state.external_task(id) {
            return Err(InputRefusal::DuplicateId(known.id));
        }
        if self.state.external_tasks().count() >= MAX_EXTERNAL_TASKS {
            return Err(InputRefusal::ExternalTaskLimit { cap: MAX_EXTERNAL_TASKS });
        }
        Ok(())
    }

    /// Gives a task whose client is gone to another connection. Its own connection may ask again.
    pub(super) fn claim_external_task(&mut self, claim: ExternalTaskClaim) -> Result<(), InputRefusal> {
        let ExternalTaskClaim { task: id, spec, expected } = claim;
        let task = self.task(id)?;
        let report = task.external.as_deref().ok_or(InputRefusal::NotExternal(id))?;
        if expected.is_some_and(|expected| expected != report.sequence) {
            return Err(InputRefusal::ExternalTaskConflict { task: id, sequence: report.sequence });
        }
        match task.phase {
            TaskPhase::Interrupted if self.state.admission == SessionAdmission::Closed => Err(InputRefusal::Closed),
            TaskPhase::Interrupted => {
                let working = report.clone().with_activity(ExternalActivity::Working, self.now);
                let claimed_at = Some(self.now);
                self.record_report(id, ExternalReport { spec, claimed_at, ..working })?;
                self.requeue(id)
            }
            TaskPhase::Finished(_) => Ok(()),
            TaskPhase::Queued(_) | TaskPhase::Running(_) | TaskPhase::Idle | TaskPhase::Parked(_)
                if report.spec.owner == spec.owner =>
            {
                Ok(())
            }
            TaskPhase::Queued(_) | TaskPhase::Running(_) | TaskPhase::Idle | TaskPhase::Parked(_) => {
                Err(InputRefusal::ExternalTaskNotOwned(id))
            }
        }
    }

    /// Applies a client's report, unless it was applied before.
    pub(super) fn update_external_task(&mut self, update: ExternalTaskUpdate) -> Result<(), InputRefusal> {
        let ExternalTaskUpdate { task: id, owner, sequence, progress } = update;
        let task = self.task(id)?;
        let report = task.external.as_deref().ok_or(InputRefusal::NotExternal(id))?;
        if sequence <= report.sequence {
            return Ok(());
        }
        if task.is_finished() {
            return Err(InputRefusal::Ended(id));
        }
        if !task.is_running() || report.spec.owner != owner {
            return Err(InputRefusal::ExternalTaskNotOwned(id));
        }
        let report = progress.into_iter().fold(report.clone(), |report, step| report.with_progress(step, self.now));
        let end = report.end.clone();
        self.record_report(id, ExternalReport { sequence, updated_at: self.now, ..report })?;
        end.map_or(Ok(()), |end| self.end_external_task(id, end))
    }

    /// Interrupts the running external tasks of a connection that is gone.
    pub(super) fn orphan_external_tasks(&mut self, owner: &str) -> Result<(), InputRefusal> {
        let is_orphan = |report: &ExternalReport| report.spec.owner == owner;
        let tasks = self.state.external_tasks().filter(|task| task.is_running());
        let orphans: Vec<TaskId> =
            tasks.filter(|task| task.external.as_deref().is_some_and(is_orphan)).map(|task| task.id).collect();
        orphans.into_iter().try_for_each(|id| self.orphan(id))
    }

    /// Interrupts a running task that only a client can continue.
    pub(super) fn orphan(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        let task = self.task(id)?;
        let (run, report) = (task.run_id(), task.external.as_deref().cloned());
        if let Some(report) = report {
            self.record_report(id, report.with_activity(ExternalActivity::Stopped, self.now))?;
        }
        self.record(id, Event::TaskInterrupted)?;
        self.effects.push(KernelEffect::Stop { run, how: CancelMode::Abort });
        Ok(())
    }

    fn end_external_task(&mut self, id: TaskId, end: ExternalTaskEnd) -> Result<(), InputRefusal> {
        let (outcome, text) = match end {
            ExternalTaskEnd::Completed { result } => {
                (TaskOutcome::Completed, result.map(|result| result.to_string()).unwrap_or_default())
            }
            ExternalTaskEnd::Failed { error, .. } => {
                (TaskOutcome::Failed { kind: FailKind::Reported, message: error }, String::new())
            }
            ExternalTaskEnd::Cancelled { reason } => {
                (TaskOutcome::Cancelled { by: CancelBy::User }, reason.unwrap_or_default())
            }
        };
        let run = self.task(id)?.run_id();
        self.close(id, outcome, text, AfterActivation::Finish)?;
        self.effects.push(KernelEffect::Stop { run, how: CancelMode::Abort });
        Ok(())
    }

    fn record_report(&mut self, id: TaskId, report: ExternalReport) -> Result<(), InputRefusal> {
        self.record(id, Event::ExternalTaskReported { report: Box::new(report) })
    }
}

#[cfg(test)]
mod tests {
    use protocol::{ExternalTaskId, ExternalTaskProgress, Fence, SessionConfig, SessionId, Timestamp};
    use uuid::Uuid;

    use crate::{Kernel, KernelInput, KernelTask, SessionLimits, TaskSpawn};

    use super::*;

    const TASK: u128 = 7;

    fn id() -> TaskId {
        TaskId::new(Uuid::from_u128(TASK))
    }

    fn name() -> ExternalTaskId {
        ExternalTaskId("build".into())
    }

    fn spec(owner: &str) -> ExternalTaskSpec {
        ExternalTaskSpec { id: name(), title: None, cancellable: true, owner: owner.into() }
    }

    fn config() -> SessionConfig {
        let config = serde_json::json!({ "cwd": "/w", "model": "m", "permission": "default", "version": "0" });
        serde_json::from_value(config).unwrap()
    }

    fn start(id: TaskId) -> KernelInput {
        let (prompt, by, until, definition) = ("builds".to_owned(), None, None, None);
        KernelInput::Spawn(TaskSpawn {
            id,
            spec: TaskSpec::external("build", spec("a")),
            prompt,
            by,
            until,
            definition,
            redo_reason: None,
        })
    }

    /// A session in which connection `a` has started an external task.
    fn kernel() -> Kernel {
        let mut kernel = Kernel::new(SessionLimits::default());
        let root = TaskId::new(Uuid::from_u128(1));
        let open = KernelInput::Open { root, spec: TaskSpec::root("main"), definition: None, config: config() };
        kernel.decide(Timestamp(0), open).unwrap();
        kernel.decide(Timestamp(10), start(id())).unwrap();
        kernel
    }

    fn claim(owner: &str, expected: Option<u64>) -> KernelInput {
        KernelInput::ClaimExternalTask(ExternalTaskClaim { task: id(), spec: spec(owner), expected })
    }

    fn update(owner: &str, sequence: u64, change: ExternalTaskProgress) -> KernelInput {
        let (task, owner, progress) = (id(), owner.to_owned(), vec![change]);
        KernelInput::UpdateExternalTask(ExternalTaskUpdate { task, owner, sequence, progress })
    }

    fn ended() -> ExternalTaskProgress {
        ExternalTaskProgress::Ended { end: ExternalTaskEnd::Completed { result: Some(3.into()) } }
    }

    fn report(kernel: &Kernel) -> ExternalReport {
        kernel.task(id()).and_then(|task| task.external.as_deref()).cloned().unwrap()
    }

    #[test]
    fn only_the_owner_updates_an_external_task_and_each_update_counts_once() {
        let mut kernel = kernel();
        assert!(kernel.is_quiet(), "work of a client does not keep the session at work");
        let second = kernel.decide(Timestamp(11), start(TaskId::new(Uuid::from_u128(8))));
        assert_eq!(second, Err(InputRefusal::DuplicateId(id())));
        assert!(kernel.decide(Timestamp(11), claim("a", Some(0))).unwrap().is_empty());
        assert_eq!(kernel.decide(Timestamp(12), claim("b", None)), Err(InputRefusal::ExternalTaskNotOwned(id())));
        let percent = ExternalTaskProgress::Percent { percent: Some(40) };
        kernel.decide(Timestamp(20), update("a", 1, percent)).unwrap();
        assert!(kernel.decide(Timestamp(21), update("a", 1, ended())).unwrap().is_empty());
        let foreign = kernel.decide(Timestamp(22), update("b", 2, ended()));
        assert_eq!(foreign, Err(InputRefusal::ExternalTaskNotOwned(id())));
        kernel.decide(Timestamp(30), update("a", 7, ended())).unwrap();
        let seen = report(&kernel);
        assert_eq!((seen.sequence, seen.percent, seen.worked_ms), (7, Some(40), 20));
        assert_eq!(kernel.task(id()).unwrap().phase, TaskPhase::Finished(TaskOutcome::Completed));
        let root = kernel.root().and_then(|root| kernel.task(root)).unwrap();
        assert!(root.inbox.is_empty(), "the end of a client's work does not wake the root");
        assert_eq!(kernel.decide(Timestamp(31), update("a", 8, ended())), Err(InputRefusal::Ended(id())));
        kernel.decide(Timestamp(32), KernelInput::Forget(id())).unwrap();
        kernel.decide(Timestamp(33), start(TaskId::new(Uuid::from_u128(8)))).unwrap();
    }

    #[test]
    fn an_orphaned_external_task_is_interrupted_until_it_is_claimed_at_its_sequence_number() {
        let mut kernel = kernel();
        kernel.decide(Timestamp(20), update("a", 3, ExternalTaskProgress::Idle)).unwrap();
        kernel.decide(Timestamp(30), KernelInput::OrphanExternalTasks { owner: "a".into() }).unwrap();
        let task = |kernel: &Kernel| kernel.task(id()).cloned().unwrap();
        assert_eq!(task(&kernel).phase, TaskPhase::Interrupted);
        kernel.decide(Timestamp(35), KernelInput::Resume).unwrap();
        assert_eq!(task(&kernel).phase, TaskPhase::Interrupted, "only a client can continue it");
        let running = ExternalTaskProgress::Running;
        let orphaned = kernel.decide(Timestamp(40), update("a", 4, running));
        assert_eq!(orphaned, Err(InputRefusal::ExternalTaskNotOwned(id())));
        let conflict = InputRefusal::ExternalTaskConflict { task: id(), sequence: 3 };
        assert_eq!(kernel.decide(Timestamp(40), claim("b", Some(2))), Err(conflict));
        kernel.decide(Timestamp(50), claim("b", Some(3))).unwrap();
        let seen = report(&kernel);
        assert_eq!((&*seen.spec.owner, seen.claimed_at, seen.worked_ms), ("b", Some(Timestamp(50)), 10));
        assert!(task(&kernel).is_running());
        kernel.decide(Timestamp(60), update("b", 4, ExternalTaskProgress::Idle)).unwrap();
    }

    #[test]
    fn a_new_owner_of_the_session_interrupts_external_tasks_and_a_fork_stops_them() {
        let mut kernel = kernel();
        kernel.decide(Timestamp(20), KernelInput::Adopt { fence: Fence(2), config: config() }).unwrap();
        let orphan = |task: &KernelTask| (task.phase.clone(), task.external.as_ref().map(|report| report.activity));
        let expected = (TaskPhase::Interrupted, Some(ExternalActivity::Stopped));
        assert_eq!(orphan(kernel.task(id()).unwrap()), expected);
        kernel.decide(Timestamp(30), KernelInput::Fork { from: SessionId::new(Uuid::from_u128(2)) }).unwrap();
        assert!(matches!(kernel.task(id()).unwrap().phase, TaskPhase::Finished(TaskOutcome::Cancelled { .. })));
    }
}
