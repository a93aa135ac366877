//! Stopping tasks and ending activations.

use protocol::{
    Activation, CancelBy, CancelMode, CompletionPolicy, EndReport, Event, MailBody, MailDelivery, ModelFault,
    Principal, TaskId, TaskMode, TaskOutcome, ToolResult,
};

use super::DecisionDraft;
use crate::state::SessionAdmission;
use crate::{ActivationWork, CallPhase, InputRefusal, KernelEffect, KernelTask, QueuePurpose, TaskPhase, call_answers};

/// What happens to a task when its activation is over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterActivation {
    /// The task becomes idle.
    Idle,
    /// The task is finished, unless it is the root.
    Finish,
}

impl DecisionDraft<'_> {
    pub(super) fn stop_session(&mut self, by: CancelBy) -> Result<(), InputRefusal> {
        let root = self.state.root.ok_or(InputRefusal::Closed)?;
        if self.state.admission == SessionAdmission::Open {
            self.record(root, Event::AdmissionClosed)?;
        }
        self.cancel(root, by, CancelMode::Abort)
    }

    /// Stops a task's activation and the children it waits for.
    pub(super) fn interrupt(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        self.task(id)?;
        self.abort_objective(id, CancelBy::User)?;
        let task = self.task(id)?;
        if !is_activation_open(&task.phase) {
            return Ok(());
        }
        // A task with a cancel request does not become idle.
        let after = match (task.on_complete, task.cancel) {
            (CompletionPolicy::Idle, None) => AfterActivation::Idle,
            (CompletionPolicy::Idle | CompletionPolicy::Finish, _) => AfterActivation::Finish,
        };
        self.abort(id, CancelBy::User, after)
    }

    /// Stops a task and everything below it. All cancel requests are recorded before any task is stopped, so that no
    /// task below can start another one meanwhile. An abort replaces an earlier wrap-up.
    pub(super) fn cancel(&mut self, id: TaskId, by: CancelBy, how: CancelMode) -> Result<(), InputRefusal> {
        self.task(id)?;
        self.abort_objective(id, by)?;
        let subtree: Vec<TaskId> = self.state.subtree(id).into_iter().filter(|id| self.can_stop(*id)).collect();
        for id in &subtree {
            if self.task(*id)?.cancel.is_none_or(|(_, requested)| requested < how) {
                let until_at = (how == CancelMode::WrapUp).then(|| self.now.plus(self.limits.grace));
                self.record(*id, Event::CancelRequested { by, how, until_at })?;
            }
        }
        for id in subtree.into_iter().rev() {
            let task = self.task(id)?;
            if task.is_finished() {
                continue;
            }
            // Only an agent has a last turn to take, and only while it runs.
            if how == CancelMode::WrapUp && task.is_running() && task.kind.takes_last_turn() {
                let run = task.run_id();
                self.effects.push(KernelEffect::Stop { run, how });
            } else {
                self.abort(id, by, AfterActivation::Finish)?;
            }
        }
        Ok(())
    }

    /// Aborts a task whose time for a last turn is over.
    pub(super) fn expire_grace(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        let task = self.task(id)?;
        let over = task.phase.is_busy() && task.cancel_until.is_some_and(|until| until <= self.now);
        match task.cancel {
            Some((by, _)) if over => self.cancel(id, by, CancelMode::Abort),
            Some(_) | None => Ok(()),
        }
    }

    /// Whether the task can be stopped: a finished task and an idle root cannot.
    fn can_stop(&self, id: TaskId) -> bool {
        let task = self.state.tasks.get(&id);
        task.is_some_and(|task| if task.kind.is_root() { !task.phase.is_at_rest() } else { !task.is_finished() })
    }

    /// Ends the activation at once, and with [`AfterActivation::Finish`] the task too. Later reports from its run are
    /// ignored.
    pub(super) fn abort(&mut self, id: TaskId, by: CancelBy, after: AfterActivation) -> Result<(), InputRefusal> {
        let task = self.task(id)?;
        let (run, running) = (task.run_id(), task.is_running());
        self.close(id, TaskOutcome::Cancelled { by }, String::new(), after)?;
        if running {
            self.effects.push(KernelEffect::Stop { run, how: CancelMode::Abort });
        }
        Ok(())
    }

    /// Ends the current activation, if any, and then the task, if requested; delivers the result.
    pub(super) fn close(
        &mut self,
        id: TaskId,
        outcome: TaskOutcome,
        text: String,
        after: AfterActivation,
    ) -> Result<(), InputRefusal> {
        self.abandon_turn(id)?;
        let task = self.task(id)?;
        let (activation, kind, undelivered) = (task.activation, task.kind, undelivered_activation(task));
        if is_activation_open(&task.phase) {
            self.record(id, Event::ActivationEnded { activation, outcome: outcome.clone(), text })?;
            if kind.is_root() {
                self.root_activation_ended(id, &outcome)?;
            }
        } else if kind.is_root() {
            return Ok(());
        }
        self.release_todo(id, &outcome)?;
        let stopped = matches!(outcome, TaskOutcome::Cancelled { .. });
        if after == AfterActivation::Finish && !kind.is_root() {
            self.record(id, Event::TaskFinished { outcome })?;
            self.expire_mail(id)?;
            self.stop_children(id)?;
        }
        self.settle_waits(id)?;
        if let Some(activation) = undelivered {
            self.deliver_result(id, activation)?;
        }
        if stopped { Ok(()) } else { self.wake_for_results(id) }
    }

    /// Ends the current turn: its model call, its awaited children, its open calls.
    pub(super) fn abandon_turn(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        self.fail_turn(id, ModelFault::Cancelled)?;
        self.answer_open_calls(id, &call_answers::cancelled())
    }

    /// Answers the open calls, and stops the children that they wait for.
    pub(super) fn answer_open_calls(&mut self, id: TaskId, answer: &ToolResult) -> Result<(), InputRefusal> {
        self.stop_awaited(id)?;
        let open: Vec<_> = self
            .task(id)?
            .work
            .calls()
            .filter(|(_, phase)| **phase != CallPhase::Answered)
            .map(|(call, _)| call.clone())
            .collect();
        for call in open {
            self.record(id, Event::CallAnswered { call, answer: answer.clone(), evidence: Vec::new() })?;
        }
        debug_assert!(self.task(id).is_ok_and(|task| !matches!(task.work, ActivationWork::CallingTools(_))));
        Ok(())
    }

    /// Stops the children of a task that has ended.
    fn stop_children(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        for child in self.task(id)?.children.clone() {
            if !self.task(child)?.is_finished() {
                self.cancel(child, CancelBy::Parent, CancelMode::Abort)?;
            }
        }
        Ok(())
    }

    /// Stops the children that a task was waiting for.
    fn stop_awaited(&mut self, id: TaskId) -> Result<(), InputRefusal> {
        let awaited: Vec<TaskId> =
            self.task(id)?.work.waits().flat_map(|(_, wait)| wait.awaited.iter().copied()).collect();
        for child in awaited {
            let task = self.task(child)?;
            if task.parent == Some(id) && task.mode == TaskMode::Sync && !task.phase.is_at_rest() {
                self.cancel(child, CancelBy::Parent, CancelMode::Abort)?;
            }
        }
        Ok(())
    }

    /// Puts the result of a background task's activation into its parent's inbox.
    fn deliver_result(&mut self, id: TaskId, activation: Activation) -> Result<(), InputRefusal> {
        let task = self.task(id)?;
        let (mode, cancelled) = (task.mode, task.cancel.is_some());
        let Some(parent) = task.parent else { return Ok(()) };
        let parent_task = self.task(parent)?;
        let stopped_together = cancelled && parent_task.stopped;
        let gone = parent_task.is_finished() || matches!(parent_task.cancel, Some((_, CancelMode::Abort)));
        // The end of a background command does not wake the agent that started it; the agent reads the output when it
        // needs it. The fleet itself reports the end of workers and merge agents.
        let is_fleet_task = task.todo.is_some() || task.merges.is_some();
        let is_told = match task.kind.reports_end() {
            EndReport::Parent => true,
            EndReport::Root => parent_task.kind.is_root(),
            EndReport::Unreported => false,
        };
        let unreported = !is_told || is_fleet_task;
        if mode == TaskMode::Sync || gone || unreported {
            return Ok(());
        }
        let body = MailBody::Result { task: id, activation };
        self.admit_mail(parent, Principal::Task { id }, MailDelivery::Steer, body)?;
        // A parent that was stopped together with its children must not be woken by their results.
        if stopped_together { Ok(()) } else { self.wake_for_results(parent) }
    }
}

/// The activation whose result the parent has not received yet: the current one, or the queued one that will now never
/// begin. None for a task at rest.
fn undelivered_activation(task: &KernelTask) -> Option<Activation> {
    match task.phase {
        TaskPhase::Running(_)
        | TaskPhase::Parked(_)
        | TaskPhase::Interrupted
        | TaskPhase::Queued(QueuePurpose::Resume) => Some(task.activation),
        TaskPhase::Queued(QueuePurpose::Begin) => Some(Activation(task.activation.0 + 1)),
        TaskPhase::Idle | TaskPhase::Finished(_) => None,
    }
}

/// Whether an activation has begun and not ended.
fn is_activation_open(phase: &TaskPhase) -> bool {
    match phase {
        TaskPhase::Running(_)
        | TaskPhase::Parked(_)
        | TaskPhase::Interrupted
        | TaskPhase::Queued(QueuePurpose::Resume) => true,
        TaskPhase::Queued(QueuePurpose::Begin) | TaskPhase::Idle | TaskPhase::Finished(_) => false,
    }
}
