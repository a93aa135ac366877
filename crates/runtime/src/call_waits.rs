//! Tool calls of a run that wait for other tasks or for the user.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kernel::{CallPhase, DecidedAsk, InputRefusal, KernelInput, RunUpdate};
use protocol::{Activation, Ask, AskDecision, AskId, CallId, DecidedBy, RunId, TaskId, Timestamp, Turn, WaitMode};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::supervisor::{InputRejection, Supervisor};

/// The waiting calls of one run.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallWaits(Arc<Mutex<HashMap<CallId, oneshot::Sender<()>>>>);

impl CallWaits {
    /// Signals that a call's wait is over.
    pub(crate) fn finish(&self, call: &CallId) {
        if let Some(waiter) = self.lock().remove(call) {
            // The call may have been dropped.
            let _dropped = waiter.send(());
        }
    }

    /// Registers a call that is about to wait. A call that creates the task it waits for registers first.
    pub(crate) fn register(&self, call: &CallId) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.lock().insert(call.clone(), sender);
        receiver
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<CallId, oneshot::Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A tool call of a run as the session knows it; it can wait.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) supervisor: Supervisor,
    pub(crate) run: RunId,
    pub(crate) turn: Turn,
    pub(crate) call: CallId,
    pub(crate) waits: CallWaits,
    /// Results of other tasks that the call's answer contains.
    pub(crate) reported_results: Arc<Mutex<Vec<(TaskId, Activation)>>>,
}

/// Identifies a call of the session.
pub(crate) type CallLocation<'a> = (TaskId, Turn, &'a CallId);

impl Caller {
    /// Identifies the call.
    pub(crate) fn location(&self) -> CallLocation<'_> {
        (self.run.task, self.turn, &self.call)
    }

    /// Records that the call's answer contains a result, so that it is not delivered again.
    pub(crate) fn mark_reported(&self, task: TaskId, activation: Activation) {
        self.reported_results.lock().unwrap_or_else(PoisonError::into_inner).push((task, activation));
    }

    /// The results that the call's answer contains; each is returned once.
    pub(crate) fn take_reported(&self) -> Vec<(TaskId, Activation)> {
        std::mem::take(&mut *self.reported_results.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for tasks to end. Meanwhile the run sends no model request and its slot is free. Resumes a wait that was
    /// under way when the process died.
    pub(crate) async fn wait(
        &self,
        on: Vec<TaskId>,
        mode: WaitMode,
        until: Option<Timestamp>,
    ) -> Result<(), InputRejection> {
        let wait_over = self.waits.register(&self.call);
        match self.phase().await? {
            Some(CallPhase::Started) => {
                let (turn, call) = (self.turn, self.call.clone());
                self.supervisor.report(self.run, RunUpdate::Wait { turn, call, on, mode, until }).await?;
            }
            Some(CallPhase::Waiting(_)) => {}
            Some(
                CallPhase::Waited { .. }
                | CallPhase::Asking(_)
                | CallPhase::Decided(_)
                | CallPhase::Pending
                | CallPhase::Answered,
            )
            | None => return Ok(()),
        }
        // Satisfied, too late or promoted: the caller checks the tasks anyway.
        let _why = wait_over.await;
        Ok(())
    }

    /// Waits for something outside the session's tasks. Meanwhile the run sends no model request and its slot is free.
    /// A wait that was under way when the process died is over: what it had observed is unknown.
    pub(crate) async fn wait_until(
        &self,
        until: Timestamp,
        done: impl Future<Output = ()>,
    ) -> Result<(), InputRejection> {
        let wait_over = self.waits.register(&self.call);
        let (turn, call) = (self.turn, self.call.clone());
        match self.phase().await? {
            Some(CallPhase::Started) => {
                let (call, on, mode, until) = (call.clone(), Vec::new(), WaitMode::Manual, Some(until));
                self.supervisor.report(self.run, RunUpdate::Wait { turn, call, on, mode, until }).await?;
                tokio::select! {
                    _too_late = wait_over => return Ok(()),
                    () = done => {}
                }
            }
            Some(CallPhase::Waiting(_)) => {}
            Some(
                CallPhase::Waited { .. }
                | CallPhase::Asking(_)
                | CallPhase::Decided(_)
                | CallPhase::Pending
                | CallPhase::Answered,
            )
            | None => return Ok(()),
        }
        self.supervisor.report(self.run, RunUpdate::ManualWaitOver { turn, call }).await
    }

    /// Asks the user and waits for at most `wait`. Resumes an ask that the call already has open, perhaps from a dead
    /// process, with the shorter of the two time limits.
    pub(crate) async fn ask(&self, ask: Ask, wait: Option<Duration>) -> Result<AskWaiter, InputRejection> {
        let finished = self.waits.register(&self.call);
        let mut give_up_at = None;
        match self.phase().await? {
            // A task that asks the user itself has no open call; the kernel refuses the ask of any other.
            Some(CallPhase::Pending | CallPhase::Started) | None => {
                let turn = self.turn;
                self.supervisor.report(self.run, RunUpdate::Ask { turn, ask }).await?;
            }
            // The call asks its next question.
            Some(CallPhase::Decided(decided)) if decided.call_started && decided.ask != ask.id => {
                let turn = self.turn;
                self.supervisor.report(self.run, RunUpdate::Ask { turn, ask }).await?;
            }
            Some(CallPhase::Asking(open)) => {
                let is_sooner = ask.until_at.is_some_and(|own| open.until_at.is_none_or(|until| own < until));
                give_up_at = wait.filter(|_| is_sooner).map(|wait| (open.id, Instant::now() + wait));
            }
            Some(CallPhase::Decided(_) | CallPhase::Waiting(_) | CallPhase::Waited { .. } | CallPhase::Answered) => {}
        }
        Ok(AskWaiter { caller: self.clone(), finished, give_up_at })
    }

    /// The phase of the call.
    pub(crate) async fn phase(&self) -> Result<Option<CallPhase>, InputRejection> {
        let (task, call) = (self.run.task, self.call.clone());
        self.supervisor.query(move |kernel| kernel.task(task).and_then(|task| task.work.call(&call)).cloned()).await
    }
}

/// An open ask that waits for its decision.
#[derive(Debug)]
pub(crate) struct AskWaiter {
    caller: Caller,
    finished: oneshot::Receiver<()>,
    /// When this owner process gives up, if an earlier one would have waited longer.
    give_up_at: Option<(AskId, Instant)>,
}

impl AskWaiter {
    /// Waits for the decision.
    pub(crate) async fn decision(self) -> Result<DecidedAsk, InputRejection> {
        if let Some(CallPhase::Asking(_)) = self.caller.phase().await? {
            match self.give_up_at {
                // The ask was decided or dropped: the phase below tells which.
                None => drop(self.finished.await),
                Some((ask, until)) => {
                    if timeout_at(until, self.finished).await.is_err() {
                        let decision = AskDecision::Deny { message: String::new() };
                        let deny = KernelInput::Decide { ask, decision, by: DecidedBy::Deadline };
                        match self.caller.supervisor.submit(deny).await {
                            // The user may have decided at the last moment.
                            Ok(_) | Err(InputRejection::Refused(InputRefusal::NoAsk(_))) => {}
                            Err(rejected) => return Err(rejected),
                        }
                    }
                }
            }
        }
        match self.caller.phase().await? {
            Some(CallPhase::Decided(decided)) => Ok(decided),
            Some(_) | None => Err(InputRejection::Refused(InputRefusal::WrongCallPhase(self.caller.call))),
        }
    }
}
