//! Tool calls of a run that wait for other tasks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kernel::{CallPhase, Report};
use protocol::{At, CallId, Run, TaskId, Turn, WaitEnd, WaitMode};
use tokio::sync::oneshot;

use crate::supervisor::{Rejected, Supervisor};

/// The waiting calls of one run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waits(Arc<Mutex<HashMap<CallId, oneshot::Sender<WaitEnd>>>>);

impl Waits {
    /// Passes on that a call's wait is over.
    pub(crate) fn over(&self, call: &CallId, why: WaitEnd) {
        if let Some(waiter) = self.lock().remove(call) {
            // The call may have been dropped.
            let _dropped = waiter.send(why);
        }
    }

    fn register(&self, call: &CallId) -> oneshot::Receiver<WaitEnd> {
        let (sender, receiver) = oneshot::channel();
        self.lock().insert(call.clone(), sender);
        receiver
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<CallId, oneshot::Sender<WaitEnd>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One tool call of a run, as something that can wait.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) supervisor: Supervisor,
    pub(crate) run: Run,
    pub(crate) turn: Turn,
    pub(crate) call: CallId,
    pub(crate) waits: Waits,
}

impl Caller {
    /// Waits for tasks to end. No model is asked meanwhile, and the slot is free. A wait that was under way
    /// when the process died is taken up again.
    pub(crate) async fn wait(&self, on: Vec<TaskId>, mode: WaitMode, until: Option<At>) -> Result<(), Rejected> {
        let over = self.waits.register(&self.call);
        match self.phase().await? {
            Some(CallPhase::Started) => {
                let (turn, call) = (self.turn, self.call.clone());
                self.supervisor.report(self.run, Report::Wait { turn, call, on, mode, until }).await?;
            }
            Some(CallPhase::Waiting(_)) => {}
            Some(CallPhase::Waited { .. } | CallPhase::Pending | CallPhase::Answered) | None => return Ok(()),
        }
        // Satisfied, too late or promoted: the caller looks at the tasks anyway.
        let _why = over.await;
        Ok(())
    }

    /// Where the call is.
    pub(crate) async fn phase(&self) -> Result<Option<CallPhase>, Rejected> {
        let (task, call) = (self.run.task, self.call.clone());
        self.supervisor.look(move |kernel| kernel.task(task).and_then(|task| task.work.call(&call)).cloned()).await
    }
}
