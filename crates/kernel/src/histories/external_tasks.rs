//! External tasks in random histories: clients register, update and lose them, and [`ExternalTaskAudit`] checks what is
//! recorded of them.

use std::collections::BTreeMap;

use protocol::api::{ExternalTaskUpdate, RegisterExternalTaskParams};
use protocol::*;

use super::simulated_session::SimulatedSession;
use crate::*;

impl SimulatedSession {
    pub(super) fn change_external_task(&mut self) {
        let id = ExternalTaskId(format!("x{}", self.rng.below(2)));
        let owner = format!("client{}", self.rng.below(2));
        // Anybody may end an orphaned task, also somebody who has no connection.
        let sender = Some(owner.clone()).filter(|_| !self.rng.one_in(6));
        let known = self.kernel.external_task(&id).cloned();
        let input = match self.rng.below(8) {
            // A task that has ended is of no other use.
            0..3 if known.as_ref().is_some_and(ExternalTask::is_ended) => KernelInput::ForgetExternalTask(id.clone()),
            0..3 => KernelInput::RegisterExternalTask(RegisterExternalTaskParams {
                id: id.clone(),
                title: None,
                description: "builds".into(),
                cancellable: true,
                owner: owner.clone(),
                expected: Some(self.rng.below(4)).filter(|_| self.rng.one_in(4)),
            }),
            3..6 => KernelInput::UpdateExternalTask(ExternalTaskUpdate {
                id: id.clone(),
                owner: sender.clone(),
                sequence: known.as_ref().map_or(1, |task| task.sequence + self.rng.below(3)),
                progress: vec![self.random_progress()],
            }),
            6 => KernelInput::OrphanExternalTasks { owner: owner.clone() },
            _ => KernelInput::ForgetExternalTask(id.clone()),
        };
        let is_forget = matches!(input, KernelInput::ForgetExternalTask(_));
        let refusal = self.try_apply(input);
        if is_forget {
            let may_forget = known.as_ref().is_some_and(ExternalTask::is_ended);
            assert_eq!(refusal.is_none(), may_forget, "{known:?}: {refusal:?}");
        }
        if let Some(InputRefusal::ExternalTaskNotOwned(_)) = refusal {
            let task = known.expect("an unknown task has no owner");
            assert!(sender != Some(task.owner.clone()) || !task.is_owned(), "{sender:?} owns {task:?}");
        }
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

/// The external tasks according to the log.
#[derive(Default)]
pub(super) struct ExternalTaskAudit(BTreeMap<ExternalTaskId, ExternalTask>);

impl ExternalTaskAudit {
    pub(super) fn check_event(&mut self, event: &Event) {
        match event {
            Event::ExternalTaskChanged { external_task } => {
                let task = external_task.as_ref().clone();
                if let Some(before) = self.0.insert(task.id.clone(), task.clone()) {
                    assert!(!before.is_ended(), "{task:?} changed after its end");
                    assert!(before.sequence <= task.sequence, "an old update of {task:?} was applied");
                    let changed_owner = before.owner != task.owner;
                    assert!(!changed_owner || !before.is_owned(), "{task:?} was taken from its owner");
                }
            }
            Event::ExternalTaskForgotten { id } => {
                assert!(self.0.remove(id).is_some_and(|task| task.is_ended()), "{id:?} was forgotten before its end");
            }
            Event::SessionForked { .. } => self.0.clear(),
            _other => {}
        }
    }

    /// Checks that the kernel and the log agree.
    pub(super) fn check(&self, kernel: &Kernel) {
        assert!(kernel.external_tasks().eq(self.0.values()), "the kernel and the log disagree on external tasks");
    }
}
