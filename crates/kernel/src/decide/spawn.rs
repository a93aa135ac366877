//! Starting tasks.

use protocol::{
    AskDecision, CallId, Event, MailBody, MailDelivery, Principal, TaskId, TaskMode, TaskSpec, Turn, WaitMode,
};

use super::DecisionDraft;
use crate::state::SessionAdmission;
use crate::{AgentDefinition, CallPhase, DecidedAsk, InputRefusal, KernelTask, SessionLimits, TaskSpawn, call_answers};

impl DecisionDraft<'_> {
    pub(super) fn spawn(&mut self, spawn: TaskSpawn) -> Result<(), InputRefusal> {
        let TaskSpawn { id, spec, prompt, by, until, definition, redo_reason } = spawn;
        let caller = by.as_ref().map(|(run, ..)| run.task);
        let parent = caller.or(spec.parent).or(self.state.root).ok_or(InputRefusal::Closed)?;
        if let Some(todo) = &spec.todo {
            self.expect_claimable(todo)?;
        }
        let name = free_name(self.expect_parent(id, parent, &spec)?, &spec.name);
        let waiter = match (&by, spec.mode) {
            (Some((run, turn, call)), mode) => {
                // A call that was cancelled meanwhile starts nothing.
                expect_spawning(self.task_of_run(*run)?, *turn, call)?;
                (mode == TaskMode::Sync).then(|| call.clone())
            }
            (None, TaskMode::Background) => None,
            (None, TaskMode::Sync) => return Err(InputRefusal::NotAwaited(id)),
        };
        if let Some(AgentDefinition { id: digest, spec }) =
            definition.filter(|known| !self.state.definitions.contains(&known.id))
        {
            self.record(parent, Event::AgentDefined { id: digest, spec })?;
        }
        if let Some((run, _, call)) = &by {
            self.start_call(run.task, call)?;
        }
        let from = caller.map_or(Principal::User, |id| Principal::Task { id });
        let call = by.map(|(_, _, call)| call);
        let answered = call.clone().filter(|_| spec.kind.answers_at_spawn() && waiter.is_none());
        let answer = call_answers::started(&name, id);
        let todo = spec.todo.clone();
        self.record(id, Event::TaskCreated(Box::new(TaskSpec { parent: Some(parent), name, call, ..spec })))?;
        if let Some(todo) = todo {
            self.claim(id, todo, redo_reason)?;
        }
        self.admit_mail(id, from, MailDelivery::Steer, MailBody::text(prompt))?;
        if let Some(call) = waiter {
            let wait = Event::WaitBegan { call, on: vec![id], mode: WaitMode::All, until_at: until };
            self.record(parent, wait)?;
        }
        if let Some(call) = answered {
            self.record(parent, Event::CallAnswered { call, answer, evidence: Vec::new() })?;
        }
        caller.map_or(Ok(()), |caller| self.note_activity(caller))?;
        self.start_unslotted(id)
    }

    /// Records the start of a call, unless it has started.
    fn start_call(&mut self, task: TaskId, call: &CallId) -> Result<(), InputRefusal> {
        match self.task(task)?.work.call(call) {
            Some(CallPhase::Started) => Ok(()),
            Some(_) | None => self.record(task, Event::CallStarted { call: call.clone() }),
        }
    }

    /// Returns the parent, if it may have this child.
    fn expect_parent(&self, id: TaskId, parent: TaskId, spec: &TaskSpec) -> Result<&KernelTask, InputRefusal> {
        if self.state.tasks.contains_key(&id) {
            return Err(InputRefusal::DuplicateId(id));
        }
        if self.state.admission == SessionAdmission::Closed {
            return Err(InputRefusal::Closed);
        }
        let parent = self.task(parent)?;
        if parent.is_finished() {
            return Err(InputRefusal::Ended(parent.id));
        }
        if parent.cancel.is_some() {
            return Err(InputRefusal::Stopping(parent.id));
        }
        if !parent.kind.may_have_children() {
            return Err(InputRefusal::CannotSpawn { task: parent.id, kind: parent.kind });
        }
        if spec.kind.is_root() {
            return Err(InputRefusal::AlreadyOpen);
        }
        self.expect_room_for_external(spec)?;
        if spec.kind.counts_as_agent() {
            self.expect_room_below(parent, &spec.agent)?;
        }
        Ok(parent)
    }

    /// Checks that the limits let a task start one more agent of this type. A lack of slots is not a limit: agents
    /// queue.
    fn expect_room_below(&self, parent: &KernelTask, agent: &str) -> Result<(), InputRefusal> {
        let SessionLimits { live, depth, total, rate, max_by_type: of_type, .. } = self.limits;
        if parent.depth >= *depth {
            return Err(InputRefusal::Depth { cap: *depth });
        }
        // An agent that can never run must not be queued.
        if *live == 0 || of_type.get(agent) == Some(&0) {
            return Err(InputRefusal::NoneOfType { agent: agent.to_owned() });
        }
        if parent.depth > 0 && self.state.recent_starts(self.now) >= *rate as usize {
            return Err(InputRefusal::Rate { cap: *rate });
        }
        if self.state.started_agents >= *total {
            return Err(InputRefusal::Total { cap: *total });
        }
        Ok(())
    }
}

/// The name, or the name with a number that no sibling has. A parent may have thousands of children of one name, so
/// the number is found by binary search.
fn free_name(parent: &KernelTask, name: &str) -> String {
    if !parent.has_child(name) {
        return name.to_owned();
    }
    let numbered = |n: u64| format!("{name}-{n}");
    let is_taken = |n: u64| parent.has_child(&numbered(n));
    let mut free = 2;
    while is_taken(free) {
        free *= 2;
    }
    let mut taken = free / 2;
    while taken + 1 < free {
        let middle = taken + (free - taken) / 2;
        if is_taken(middle) { taken = middle } else { free = middle }
    }
    numbered(free)
}

/// Checks that a call that starts a task has started or may start.
fn expect_spawning(task: &KernelTask, turn: Turn, call: &CallId) -> Result<(), InputRefusal> {
    match task.work.call(call) {
        Some(
            CallPhase::Pending
            | CallPhase::Started
            | CallPhase::Decided(DecidedAsk { decision: AskDecision::Allow { .. }, .. }),
        ) if task.turn == turn => Ok(()),
        Some(_) | None => Err(InputRefusal::WrongCallPhase(call.clone())),
    }
}

/// Checks that the call belongs to the current turn and is in the expected phase.
pub(super) fn expect_call(task: &KernelTask, turn: Turn, call: &CallId, phase: &CallPhase) -> Result<(), InputRefusal> {
    if task.turn == turn && task.work.call(call) == Some(phase) {
        Ok(())
    } else {
        Err(InputRefusal::WrongCallPhase(call.clone()))
    }
}
