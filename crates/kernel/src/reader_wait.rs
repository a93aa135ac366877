//! Waits of readers: clients, and the runtime itself. A tool call's wait is an event, because the turn of the call
//! continues after it; a reader only looks at the state, so its wait is not stored.

use protocol::{Activation, Event, TaskId, Turn};

use crate::state::KernelState;
use crate::{ActivationWork, InputRefusal, Kernel, KernelTask};

/// What a reader waits for. It is over as soon as the durable state shows it, also if it did before the wait began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReaderWait {
    /// Every one of these tasks is at rest.
    All(Vec<TaskId>),
    /// The task has answered a turn after this one, or is at rest.
    Turn {
        /// The task.
        task: TaskId,
        /// The last turn that the reader knows.
        after: Turn,
    },
    /// An activation of the task after this one has ended.
    Activation {
        /// The task.
        task: TaskId,
        /// The last activation that the reader knows.
        after: Activation,
    },
    /// The task is finished.
    Finished(TaskId),
    /// The next step of a fleet may be another one than at this count of changes.
    FleetChange {
        /// The count that the reader knows.
        after: u64,
    },
}

impl Kernel {
    /// Whether a reader's wait is over; a refusal if it names a task that does not exist.
    pub fn is_wait_over(&self, wait: &ReaderWait) -> Result<bool, InputRefusal> {
        let task = |id: TaskId| self.task(id).ok_or(InputRefusal::UnknownTask(id));
        let is_at_rest = |id: &TaskId| task(*id).map(|task| task.phase.is_at_rest());
        match wait {
            ReaderWait::All(tasks) => tasks.iter().map(is_at_rest).try_fold(true, |all, rests| Ok(rests? && all)),
            ReaderWait::Turn { task: id, after } => task(*id).map(|task| has_answered_after(task, *after)),
            ReaderWait::Activation { task: id, after } => {
                task(*id).map(|task| task.activation > *after && task.phase.is_at_rest())
            }
            ReaderWait::Finished(id) => task(*id).map(KernelTask::is_finished),
            ReaderWait::FleetChange { after } => Ok(self.state.fleet_changes > *after),
        }
    }

    /// How many events so far may have changed the next step of a fleet.
    pub fn fleet_changes(&self) -> u64 {
        self.state.fleet_changes
    }
}

impl KernelState {
    /// Counts an event that may change the next step of a fleet: a todo changes, a task becomes idle, or there is room
    /// for another worker.
    pub(crate) fn count_fleet_change(&mut self, event: &Event) {
        let is_change = matches!(
            event,
            Event::TodosChanged { .. }
                | Event::TodoReturned { .. }
                | Event::TodoDone { .. }
                | Event::TodoBlocked { .. }
                | Event::TodoUnblocked { .. }
                | Event::FleetEnded { .. }
                | Event::ActivationEnded { .. }
                | Event::TaskFinished { .. }
                | Event::TaskParked { .. }
                | Event::WaitBegan { .. }
                | Event::AskOpened(_)
                | Event::AdmissionOpened
                | Event::AdmissionClosed
        );
        self.fleet_changes += u64::from(is_change);
    }
}

/// Whether a task has answered a turn after this one, or is at rest.
fn has_answered_after(task: &KernelTask, after: Turn) -> bool {
    let unanswered = u32::from(matches!(task.work, ActivationWork::AwaitingModel(_)));
    task.turn.0.saturating_sub(unanswered) > after.0 || task.phase.is_at_rest()
}
