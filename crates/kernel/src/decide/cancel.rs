//! Tasks are stopped, and activations end.

use protocol::{
    Activation, Answer, Body, Cancel, CancelBy, Delivery, Event, Kind, Mode, ModelFault, Origin, Outcome, Rest, TaskId,
};

use super::Draft;
use crate::state::Admission;
use crate::{CallPhase, Effect, Phase, Purpose, Refusal, Task, Work, words};

/// What becomes of a task when its activation is over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// It rests if it can.
    Rest,
    /// It is finished, unless it is the root.
    Finish,
}

impl Draft<'_> {
    pub(super) fn stop(&mut self, by: CancelBy) -> Result<(), Refusal> {
        let root = self.state.root.ok_or(Refusal::Closed)?;
        if self.state.admission == Admission::Open {
            self.record(root, Event::AdmissionClosed)?;
        }
        self.cancel(root, by, Cancel::Abort)
    }

    /// Stops a task's activation and the children it waits for.
    pub(super) fn interrupt(&mut self, id: TaskId) -> Result<(), Refusal> {
        self.task(id)?;
        self.abort_flight(id, CancelBy::User)?;
        let task = self.task(id)?;
        if !under_way(&task.phase) {
            return Ok(());
        }
        // One that was asked to stop for good does not rest.
        let after = match (task.rest, task.cancel) {
            (Rest::Idle, None) => After::Rest,
            (Rest::Idle | Rest::Finish, _) => After::Finish,
        };
        self.halt(id, CancelBy::User, after)
    }

    /// Stops a task and everything below it. Nothing below can start any more from the first record on.
    pub(super) fn cancel(&mut self, id: TaskId, by: CancelBy, how: Cancel) -> Result<(), Refusal> {
        self.task(id)?;
        self.abort_flight(id, by)?;
        let tree: Vec<TaskId> = self.state.subtree(id).into_iter().filter(|id| self.can_stop(*id)).collect();
        for id in &tree {
            if self.task(*id)?.cancel.is_none_or(|(_, asked)| asked < how) {
                let until_at = (how == Cancel::WrapUp).then(|| self.now.plus(self.limits.grace));
                self.record(*id, Event::CancelRequested { by, how, until_at })?;
            }
        }
        for id in tree.into_iter().rev() {
            let task = self.task(id)?;
            if task.is_finished() {
                continue;
            }
            // Only an agent has a last turn to take, and only while it runs.
            if how == Cancel::WrapUp && task.is_running() && task.kind != Kind::Shell {
                let run = task.run();
                self.effects.push(Effect::Stop { run, how });
            } else {
                self.halt(id, by, After::Finish)?;
            }
        }
        Ok(())
    }

    /// Stops at once what has had the time for its last turn.
    pub(super) fn expire_grace(&mut self, id: TaskId) -> Result<(), Refusal> {
        let task = self.task(id)?;
        let over = task.phase.is_busy() && task.cancel_until.is_some_and(|until| until <= self.now);
        match task.cancel {
            Some((by, _)) if over => self.cancel(id, by, Cancel::Abort),
            Some(_) | None => Ok(()),
        }
    }

    /// Whether there is anything to stop: the root at rest has nothing.
    fn can_stop(&self, id: TaskId) -> bool {
        self.state.tasks.get(&id).is_some_and(|task| match task.kind {
            Kind::Main => !task.phase.is_at_rest(),
            Kind::Agent | Kind::Shell => !task.is_finished(),
        })
    }

    /// Ends a task now, whatever it is doing. Reports that come later are stale.
    pub(super) fn halt(&mut self, id: TaskId, by: CancelBy, after: After) -> Result<(), Refusal> {
        let task = self.task(id)?;
        let (run, running) = (task.run(), task.is_running());
        self.close(id, Outcome::Cancelled { by }, String::new(), after)?;
        if running {
            self.effects.push(Effect::Stop { run, how: Cancel::Abort });
        }
        Ok(())
    }

    /// Ends the activation under way, if any, and then the task, if it is to end; tells who should know.
    pub(super) fn close(&mut self, id: TaskId, outcome: Outcome, text: String, after: After) -> Result<(), Refusal> {
        self.drop_work(id)?;
        let task = self.task(id)?;
        let (activation, kind, due) = (task.activation, task.kind, due(task));
        if under_way(&task.phase) {
            self.record(id, Event::ActivationEnded { activation, outcome: outcome.clone(), text })?;
            if kind == Kind::Main {
                self.root_ended(id, &outcome)?;
            }
        } else if kind == Kind::Main {
            return Ok(());
        }
        self.release_todo(id, &outcome)?;
        let stopped = matches!(outcome, Outcome::Cancelled { .. });
        match (kind, after) {
            (Kind::Main, _) | (_, After::Rest) => {}
            (Kind::Agent | Kind::Shell, After::Finish) => {
                self.record(id, Event::TaskFinished { outcome })?;
                self.expire_mail(id)?;
                self.stop_children(id)?;
            }
        }
        self.settle_waits(id)?;
        if let Some(activation) = due {
            self.deliver(id, activation)?;
        }
        if stopped { Ok(()) } else { self.wake_for_results(id) }
    }

    /// Ends whatever turn is under way: its model call, its awaited children, its open calls.
    pub(super) fn drop_work(&mut self, id: TaskId) -> Result<(), Refusal> {
        self.fail_turn(id, ModelFault::Cancelled)?;
        self.drop_calls(id, &words::cancelled())
    }

    /// Answers the calls that are open, and stops the children that they wait for.
    pub(super) fn drop_calls(&mut self, id: TaskId, answer: &Answer) -> Result<(), Refusal> {
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
        debug_assert!(self.task(id).is_ok_and(|task| !matches!(task.work, Work::Acting(_))));
        Ok(())
    }

    /// Stops the children of a task that has ended.
    fn stop_children(&mut self, id: TaskId) -> Result<(), Refusal> {
        for child in self.task(id)?.children.clone() {
            if !self.task(child)?.is_finished() {
                self.cancel(child, CancelBy::Parent, Cancel::Abort)?;
            }
        }
        Ok(())
    }

    /// Stops the children that a task started to wait for, since it no longer does.
    fn stop_awaited(&mut self, id: TaskId) -> Result<(), Refusal> {
        let awaited: Vec<TaskId> = self.task(id)?.work.waits().flat_map(|(_, wait)| wait.on.iter().copied()).collect();
        for child in awaited {
            let task = self.task(child)?;
            if task.parent == Some(id) && task.mode == Mode::Sync && !task.phase.is_at_rest() {
                self.cancel(child, CancelBy::Parent, Cancel::Abort)?;
            }
        }
        Ok(())
    }

    /// Puts the result of a background task's activation into its parent's inbox.
    fn deliver(&mut self, id: TaskId, activation: Activation) -> Result<(), Refusal> {
        let task = self.task(id)?;
        let (mode, cancelled) = (task.mode, task.cancel.is_some());
        let Some(parent) = task.parent else { return Ok(()) };
        let reader = self.task(parent)?;
        let both_stopped = cancelled && reader.stopped;
        let gone = reader.is_finished() || matches!(reader.cancel, Some((_, Cancel::Abort)));
        // An agent hears of its commands when it looks; what ends after it would only wake it for nothing.
        // Who does a todo, or merges one, answers to the graph: its end is told with that of the others.
        let of_fleet = task.todo.is_some() || task.merges.is_some();
        let unheard = task.kind == Kind::Shell && reader.kind == Kind::Agent || of_fleet;
        if mode == Mode::Sync || gone || unheard {
            return Ok(());
        }
        let body = Body::Result { task: id, activation };
        self.admit_mail(parent, Origin::Task { id }, Delivery::Steer, body)?;
        // Whoever stopped a task and all below it does not want it to begin again because they end.
        if both_stopped { Ok(()) } else { self.wake_for_results(parent) }
    }
}

/// The activation whose result its parent has not been told: the one under way, or the one that will now never
/// begin. A task at rest owes nothing.
fn due(task: &Task) -> Option<Activation> {
    match task.phase {
        Phase::Running(_) | Phase::Parked(_) | Phase::Interrupted | Phase::Queued(Purpose::GoOn) => {
            Some(task.activation)
        }
        Phase::Queued(Purpose::Begin) => Some(Activation(task.activation.0 + 1)),
        Phase::Idle | Phase::Finished(_) => None,
    }
}

/// Whether an activation has begun and not ended.
fn under_way(phase: &Phase) -> bool {
    match phase {
        Phase::Running(_) | Phase::Parked(_) | Phase::Interrupted | Phase::Queued(Purpose::GoOn) => true,
        Phase::Queued(Purpose::Begin) | Phase::Idle | Phase::Finished(_) => false,
    }
}
