//! Whether a whole session is parked, so that only time or a person can change its state.

use crate::state::KernelState;
use crate::{ActivationWork, CallPhase, KernelTask, Parking, TaskPhase};

impl KernelState {
    /// What the whole session waits for, when every active agent is parked or waits for a parked one. With several
    /// reasons, the one that ends first.
    pub(crate) fn parked(&self) -> Option<Parking> {
        // The counters rule out most cases without a search.
        if self.parked == 0 || self.active > 0 {
            return None;
        }
        let agents = || self.tasks.values().filter(|task| task.kind.is_agent());
        if agents().any(|task| task.is_running() && !self.awaits_agents(task)) {
            return None;
        }
        let parking = |task: &KernelTask| match task.phase {
            TaskPhase::Parked(parking) => Some(parking),
            TaskPhase::Queued(_)
            | TaskPhase::Running(_)
            | TaskPhase::Idle
            | TaskPhase::Interrupted
            | TaskPhase::Finished(_) => None,
        };
        agents().filter_map(parking).min_by_key(|parking| (parking.until.is_none(), parking.until))
    }

    /// Whether a running task waits only for agents. A wait for a command, a client or a person can end while agents
    /// are parked.
    fn awaits_agents(&self, task: &KernelTask) -> bool {
        let is_open_work = |id| self.tasks.get(id).is_some_and(|task| !task.kind.is_agent() && !task.is_finished());
        let ActivationWork::CallingTools(calls) = &task.work else { return false };
        calls.values().any(|phase| matches!(phase, CallPhase::Waiting(_)))
            && calls.values().all(|phase| match phase {
                CallPhase::Waiting(wait) => !wait.awaited.is_empty() && !wait.awaited.iter().any(is_open_work),
                CallPhase::Answered => true,
                CallPhase::Pending
                | CallPhase::Started
                | CallPhase::Waited { .. }
                | CallPhase::Asking(_)
                | CallPhase::Decided(_) => false,
            })
    }
}
