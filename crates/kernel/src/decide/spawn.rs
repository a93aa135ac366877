//! A task starts.

use protocol::{Body, CallId, Delivery, Event, Kind, Mode, Origin, TaskId, TaskSpec, Turn, WaitMode};

use super::Draft;
use crate::state::Admission;
use crate::{CallPhase, Refusal, Spawn, Task};

impl Draft<'_> {
    pub(super) fn spawn(&mut self, spawn: Spawn) -> Result<(), Refusal> {
        let Spawn { id, spec, prompt, by } = spawn;
        let parent = self.parent_for(id, &spec)?;
        let (parent_id, name) = (parent.id, free_name(self, parent, &spec.name));
        let waiter = match (&by, spec.mode) {
            (Some((run, turn, call)), mode) => {
                // A call that was cancelled meanwhile starts nothing any more.
                expect_call(self.current(*run)?, *turn, call, &CallPhase::Started)?;
                (mode == Mode::Sync).then(|| call.clone())
            }
            (None, Mode::Background) => None,
            (None, Mode::Sync) => return Err(Refusal::NotAwaited(id)),
        };
        let from = if by.is_some() { Origin::Task { id: parent_id } } else { Origin::User };
        self.record(id, Event::TaskCreated(TaskSpec { parent: Some(parent_id), name, ..spec }))?;
        self.admit_mail(id, from, Delivery::Steer, Body::Text { text: prompt })?;
        if let Some(call) = waiter {
            let wait = Event::WaitBegan { call, on: vec![id], mode: WaitMode::All, until_at: None };
            self.record(parent_id, wait)?;
        }
        self.start_unslotted(id)
    }

    /// The task that may have this child, if it may.
    fn parent_for(&self, id: TaskId, spec: &TaskSpec) -> Result<&Task, Refusal> {
        if self.state.tasks.contains_key(&id) {
            return Err(Refusal::TakenId(id));
        }
        if self.state.admission == Admission::Closed {
            return Err(Refusal::Closed);
        }
        let parent = self.task(spec.parent.or(self.state.root).ok_or(Refusal::Closed)?)?;
        if parent.is_finished() {
            return Err(Refusal::Ended(parent.id));
        }
        if parent.cancel.is_some() {
            return Err(Refusal::Stopping(parent.id));
        }
        if spec.kind == Kind::Agent {
            if parent.depth >= self.limits.depth {
                return Err(Refusal::Depth { cap: self.limits.depth });
            }
            if self.state.started >= self.limits.total {
                return Err(Refusal::Total { cap: self.limits.total });
            }
        }
        Ok(parent)
    }
}

/// The name, or the name with the first number that no sibling has.
fn free_name(draft: &Draft<'_>, parent: &Task, name: &str) -> String {
    let taken: std::collections::BTreeSet<&str> =
        parent.children.iter().filter_map(|id| draft.state.tasks.get(id)).map(|task| task.name.as_str()).collect();
    if !taken.contains(name) {
        return name.to_owned();
    }
    (2u64..).map(|n| format!("{name}-{n}")).find(|name| !taken.contains(name.as_str())).unwrap_or_default()
}

/// Checks that the call belongs to the turn under way and is where it should be.
pub(super) fn expect_call(task: &Task, turn: Turn, call: &CallId, phase: &CallPhase) -> Result<(), Refusal> {
    if task.turn == turn && task.work.call(call) == Some(phase) { Ok(()) } else { Err(Refusal::Call(call.clone())) }
}
