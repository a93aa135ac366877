//! External tasks: work that clients do themselves and report. Only the connection that owns an external task may
//! update it, and each update is applied once.

use protocol::api::{ExternalTaskUpdate, RegisterExternalTaskParams};
use protocol::{Event, ExternalTask, ExternalTaskId, ExternalTaskProgress, ExternalTaskState};

use super::DecisionDraft;
use crate::InputRefusal;

/// The maximum number of external tasks that a session keeps.
const MAX_EXTERNAL_TASKS: usize = 1_000;

impl DecisionDraft<'_> {
    /// Starts an external task, or transfers an orphaned one to this client. Any other known task stays as it is.
    pub(super) fn register_external_task(&mut self, params: RegisterExternalTaskParams) -> Result<(), InputRefusal> {
        let RegisterExternalTaskParams { id, title, description, cancellable, owner, expected } = params;
        let Some(known) = self.state.external_tasks.get(&id) else {
            return self.begin_external_task(ExternalTask {
                id,
                title,
                description,
                cancellable,
                owner,
                state: ExternalTaskState::Running { since_at: self.now },
                sequence: 0,
                phase: None,
                percent: None,
                message: None,
                started_at: self.now,
                updated_at: self.now,
                reclaimed_at: None,
                worked_ms: 0,
            });
        };
        if expected.is_some_and(|expected| expected != known.sequence) {
            return Err(InputRefusal::ExternalTaskConflict { id, sequence: known.sequence });
        }
        match &known.state {
            ExternalTaskState::Running { .. } | ExternalTaskState::Idle { .. } if known.owner != owner => {
                Err(InputRefusal::ExternalTaskNotOwned(id))
            }
            ExternalTaskState::Running { .. } | ExternalTaskState::Idle { .. } | ExternalTaskState::Ended { .. } => {
                Ok(())
            }
            ExternalTaskState::Orphaned { .. } => {
                let reclaimed = known.clone().with_state(ExternalTaskState::Running { since_at: self.now }, self.now);
                let reclaimed_at = Some(self.now);
                self.record_external_task(ExternalTask {
                    title,
                    description,
                    cancellable,
                    owner,
                    reclaimed_at,
                    ..reclaimed
                })
            }
        }
    }

    /// Applies a client's update, unless it was applied before.
    pub(super) fn update_external_task(&mut self, update: ExternalTaskUpdate) -> Result<(), InputRefusal> {
        let ExternalTaskUpdate { id, owner, sequence, progress } = update;
        let known = self.state.external_tasks.get(&id).ok_or_else(|| InputRefusal::NoExternalTask(id.clone()))?;
        if sequence <= known.sequence {
            return Ok(());
        }
        let ends = |change: &ExternalTaskProgress| matches!(change, ExternalTaskProgress::Ended { .. });
        match &known.state {
            ExternalTaskState::Ended { .. } => return Err(InputRefusal::ExternalTaskEnded(id)),
            ExternalTaskState::Orphaned { .. } if progress.iter().all(ends) => {}
            ExternalTaskState::Running { .. } | ExternalTaskState::Idle { .. }
                if owner.as_ref() == Some(&known.owner) => {}
            ExternalTaskState::Running { .. } | ExternalTaskState::Idle { .. } | ExternalTaskState::Orphaned { .. } => {
                return Err(InputRefusal::ExternalTaskNotOwned(id));
            }
        }
        let updated = progress.into_iter().fold(known.clone(), |task, change| task.apply_progress(change, self.now));
        self.record_external_task(ExternalTask { sequence, updated_at: self.now, ..updated })
    }

    /// Orphans the external tasks of a connection.
    pub(super) fn orphan_external_tasks(&mut self, owner: &str) -> Result<(), InputRefusal> {
        self.orphan_matching(|external_task| external_task.owner == owner)
    }

    /// Orphans all external tasks: connections to an older owner are gone.
    pub(super) fn orphan_all_external_tasks(&mut self) -> Result<(), InputRefusal> {
        self.orphan_matching(|_any| true)
    }

    pub(super) fn forget_external_task(&mut self, id: ExternalTaskId) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        match self.state.external_tasks.get(&id) {
            None => Err(InputRefusal::NoExternalTask(id)),
            Some(external_task) if !external_task.is_ended() => Err(InputRefusal::ExternalTaskNotEnded(id)),
            Some(_) => self.record(root, Event::ExternalTaskForgotten { id }),
        }
    }

    fn begin_external_task(&mut self, external_task: ExternalTask) -> Result<(), InputRefusal> {
        if self.state.external_tasks.len() >= MAX_EXTERNAL_TASKS {
            return Err(InputRefusal::ExternalTaskLimit { cap: MAX_EXTERNAL_TASKS });
        }
        self.record_external_task(external_task)
    }

    fn orphan_matching(&mut self, matches: impl Fn(&ExternalTask) -> bool) -> Result<(), InputRefusal> {
        let orphaned = self.state.external_tasks.values().filter(|task| task.is_owned() && matches(task));
        let orphaned: Vec<ExternalTask> = orphaned.cloned().collect();
        for external_task in orphaned {
            self.record_external_task(
                external_task.with_state(ExternalTaskState::Orphaned { since_at: self.now }, self.now),
            )?;
        }
        Ok(())
    }

    fn record_external_task(&mut self, external_task: ExternalTask) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        self.record(root, Event::ExternalTaskChanged { external_task: Box::new(external_task) })
    }
}

#[cfg(test)]
mod tests {
    use protocol::{ExternalTaskEnd, Fence, SessionConfig, SessionId, TaskId, TaskSpec, TaskType, Timestamp};
    use uuid::Uuid;

    use crate::{Kernel, KernelEffect, KernelInput, SessionLimits};

    use super::*;

    fn config() -> SessionConfig {
        let config = serde_json::json!({ "cwd": "/w", "model": "m", "permission": "default", "version": "0" });
        serde_json::from_value(config).unwrap()
    }

    fn kernel() -> Kernel {
        let mut kernel = Kernel::new(SessionLimits::default());
        let root = TaskId::new(Uuid::from_u128(1));
        let spec = TaskSpec::new(TaskType::Main, "main", "root");
        kernel.decide(Timestamp(0), KernelInput::Open { root, spec, definition: None, config: config() }).unwrap();
        kernel
    }

    fn id() -> ExternalTaskId {
        ExternalTaskId("build".into())
    }

    fn register(owner: &str, expected: Option<u64>) -> KernelInput {
        let (title, description) = (None, "builds".to_owned());
        KernelInput::RegisterExternalTask(RegisterExternalTaskParams {
            id: id(),
            title,
            description,
            cancellable: true,
            owner: owner.into(),
            expected,
        })
    }

    fn progress_update(owner: &str, sequence: u64, change: ExternalTaskProgress) -> KernelInput {
        KernelInput::UpdateExternalTask(ExternalTaskUpdate {
            id: id(),
            owner: Some(owner.into()),
            sequence,
            progress: vec![change],
        })
    }

    fn ended() -> ExternalTaskProgress {
        ExternalTaskProgress::Ended { end: ExternalTaskEnd::Completed { result: None } }
    }

    #[test]
    fn only_the_owner_updates_an_external_task_and_each_update_counts_once() {
        let mut kernel = kernel();
        kernel.decide(Timestamp(10), register("a", None)).unwrap();
        assert!(kernel.decide(Timestamp(11), register("a", Some(0))).unwrap().is_empty());
        assert_eq!(kernel.decide(Timestamp(12), register("b", None)), Err(InputRefusal::ExternalTaskNotOwned(id())));
        kernel
            .decide(Timestamp(20), progress_update("a", 1, ExternalTaskProgress::Percent { percent: Some(40) }))
            .unwrap();
        assert!(kernel.decide(Timestamp(21), progress_update("a", 1, ended())).unwrap().is_empty());
        assert_eq!(
            kernel.decide(Timestamp(22), progress_update("b", 2, ended())),
            Err(InputRefusal::ExternalTaskNotOwned(id()))
        );
        assert_eq!(
            kernel.decide(Timestamp(23), KernelInput::ForgetExternalTask(id())),
            Err(InputRefusal::ExternalTaskNotEnded(id()))
        );
        kernel.decide(Timestamp(30), progress_update("a", 7, ended())).unwrap();
        let external_task = kernel.external_task(&id()).unwrap();
        assert_eq!((external_task.sequence, external_task.percent, external_task.worked_ms), (7, Some(40), 20));
        assert_eq!(
            kernel.decide(Timestamp(31), progress_update("a", 8, ended())),
            Err(InputRefusal::ExternalTaskEnded(id()))
        );
        kernel.decide(Timestamp(32), KernelInput::ForgetExternalTask(id())).unwrap();
        assert_eq!(kernel.external_task(&id()), None);
    }

    #[test]
    fn an_orphaned_external_task_can_be_reclaimed_at_its_sequence_number() {
        let mut kernel = kernel();
        kernel.decide(Timestamp(10), register("a", None)).unwrap();
        kernel.decide(Timestamp(20), progress_update("a", 3, ExternalTaskProgress::Idle)).unwrap();
        kernel.decide(Timestamp(30), KernelInput::OrphanExternalTasks { owner: "a".into() }).unwrap();
        assert_eq!(kernel.external_task(&id()).unwrap().state, ExternalTaskState::Orphaned { since_at: Timestamp(30) });
        assert_eq!(
            kernel.decide(Timestamp(40), progress_update("a", 4, ExternalTaskProgress::Running)),
            Err(InputRefusal::ExternalTaskNotOwned(id()))
        );
        let conflict = InputRefusal::ExternalTaskConflict { id: id(), sequence: 3 };
        assert_eq!(kernel.decide(Timestamp(40), register("b", Some(2))), Err(conflict));
        kernel.decide(Timestamp(50), register("b", Some(3))).unwrap();
        let external_task = kernel.external_task(&id()).unwrap();
        assert_eq!(
            (external_task.owner.as_str(), external_task.reclaimed_at, external_task.worked_ms),
            ("b", Some(Timestamp(50)), 10)
        );
        kernel.decide(Timestamp(60), progress_update("b", 4, ExternalTaskProgress::Idle)).unwrap();
    }

    #[test]
    fn adopting_a_session_orphans_its_external_tasks_and_a_fork_has_none() {
        let mut kernel = kernel();
        kernel.decide(Timestamp(10), register("a", None)).unwrap();
        let effects = kernel.decide(Timestamp(20), KernelInput::Adopt { fence: Fence(2), config: config() }).unwrap();
        let orphaned = |effect: &KernelEffect| matches!(effect, KernelEffect::Record(entry) if matches!(entry.event, Event::ExternalTaskChanged { .. }));
        assert!(effects.iter().any(orphaned));
        assert_eq!(kernel.external_task(&id()).unwrap().state, ExternalTaskState::Orphaned { since_at: Timestamp(20) });
        let update = ExternalTaskUpdate { id: id(), owner: None, sequence: 1, progress: vec![ended()] };
        let mut other = kernel.clone();
        other.decide(Timestamp(30), KernelInput::UpdateExternalTask(update)).unwrap();
        assert!(other.external_task(&id()).unwrap().is_ended());
        kernel.decide(Timestamp(30), KernelInput::Fork { from: SessionId::new(Uuid::from_u128(2)) }).unwrap();
        assert_eq!(kernel.external_tasks().count(), 0);
    }
}
