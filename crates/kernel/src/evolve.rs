//! Applies events to the state. Nothing else changes it, except values that are not durable, such as leases.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use protocol::{
    Activation, AskDecision, Attempt, CallId, ContentBlock, Cost, DecidedBy, Event, LogEntry, MailBody, MailId,
    Principal, StopBlocker, TaskId, TaskOutcome, TaskSpec, Timestamp, Turn, WaitEnd,
};

use crate::state::{KernelState, SessionAdmission};
use crate::task::NameHash;
use crate::{
    ActivationWork, CallPhase, CallWait, DecidedAsk, KernelTask, LastTurn, ModelCall, Parking, PhaseSignal,
    QueuePurpose, SlotStatus, TaskPhase, TodoProgress,
};

/// The time over which the spawn rate is counted.
const RATE_SPAN: Duration = Duration::from_secs(60);

/// An event that contradicts the state: the log is damaged, or the kernel has a bug.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEvent {
    /// It names a task that does not exist.
    #[error("an event names task {0}, which does not exist")]
    UnknownTask(TaskId),
    /// It creates a task that already exists.
    #[error("an event creates task {0}, which already exists")]
    DuplicateTask(TaskId),
    /// It is not possible in the task's current state.
    #[error("task {task} is {from} and cannot take the event {event}")]
    Transition {
        /// The task.
        task: TaskId,
        /// Its state.
        from: &'static str,
        /// The event.
        event: &'static str,
    },
}

impl KernelState {
    /// Applies one durable event.
    pub(crate) fn apply_event(&mut self, entry: &LogEntry) -> Result<(), InvalidEvent> {
        let id = entry.task;
        self.update_root_control(entry);
        self.count_fleet_change(&entry.event);
        match &entry.event {
            Event::SessionOpened(config) => {
                self.max_turns = config.max_turns;
                Ok(())
            }
            Event::WorkCheckedOut { .. }
            | Event::WorkSealed { .. }
            | Event::WorkMerged { .. }
            | Event::FleetMerged(_)
            | Event::ItemChanged { .. }
            | Event::IntentReported { .. }
            | Event::SessionTitled { .. }
            | Event::PromptSuggested { .. }
            | Event::ModelDiffered { .. }
            | Event::Compacted(_)
            | Event::ConversationCut { .. }
            | Event::CallRewritten { .. }
            | Event::CallProgressed { .. }
            | Event::ToolsLoaded { .. }
            | Event::ModeChanged { .. }
            | Event::ModelChanged { .. }
            | Event::McpServerToggled { .. }
            | Event::AutopilotContinued { .. }
            | Event::AutopilotStopped { .. }
            | Event::BudgetAwaited
            | Event::Unknown => Ok(()),
            // The stop hooks of copied activations run in the original session.
            Event::SessionForked { .. } => {
                self.tasks
                    .filter_mut(|task| !task.pending_stop_hooks.is_empty())
                    .for_each(|task| task.pending_stop_hooks.clear());
                Ok(())
            }
            Event::AgentSelected { agent, .. } => self.update(id, |root| {
                root.agent = agent.as_str().into();
                Ok(())
            }),
            Event::McpTaskReported { report } => self.update(id, |task| {
                task.kind = report.task_type().unwrap_or(task.kind);
                Ok(())
            }),
            Event::ExternalTaskReported { report } => self.update(id, |task| {
                task.external = Some(report.clone());
                Ok(())
            }),
            Event::AgentDefined { id, .. } => {
                self.definitions.insert(id.clone());
                Ok(())
            }
            Event::SessionAdopted { fence, config } => {
                self.fence = *fence;
                (self.max_turns, self.turns) = (config.max_turns, 0);
                self.update(id, |root| {
                    root.max_turns = config.root_turns;
                    root.ledger.budget = config.budget;
                    root.has_low_budget_warning = root.has_low_budget_warning && root.ledger.is_low();
                    // The new owner has its own budget and time, and decides itself which turn is the last.
                    let answered =
                        matches!(root.work, ActivationWork::Answered { .. } | ActivationWork::CallingTools(_));
                    root.last_turn = root.last_turn.filter(|last| matches!(last, LastTurn::Taken(_)) && answered);
                    Ok(())
                })
            }
            Event::TodosChanged { changed, gone, .. } => {
                gone.iter().for_each(|todo| self.graph.remove(todo));
                changed.iter().for_each(|todo| self.graph.upsert(todo));
                Ok(())
            }
            Event::FleetBegan(config) => {
                self.graph.begin_fleet(config.clone());
                self.turns = 0;
                Ok(())
            }
            Event::TodoClaimed { todo, fence, .. } => {
                self.graph.fence = *fence;
                self.graph.set_progress(todo, TodoProgress::Claimed { task: id, fence: *fence });
                Ok(())
            }
            Event::TodoReturned { todo, failure, .. } => {
                if failure.is_some() {
                    self.graph.count_failure(todo);
                }
                self.graph.set_progress(todo, TodoProgress::Pending);
                Ok(())
            }
            Event::TodoDone { todo, .. } => {
                self.graph.set_progress(todo, TodoProgress::Done);
                Ok(())
            }
            Event::TodoBlocked { todo, why } => {
                self.graph.set_progress(todo, TodoProgress::Blocked(why.clone()));
                Ok(())
            }
            Event::TodoUnblocked { todo } => {
                self.graph.reset(todo);
                Ok(())
            }
            Event::FleetEnded { .. } => {
                self.graph.fleet = None;
                Ok(())
            }
            Event::AdmissionClosed => {
                self.admission = SessionAdmission::Closed;
                self.clear_wake_times();
                Ok(())
            }
            Event::AdmissionOpened => {
                self.admission = SessionAdmission::Open;
                Ok(())
            }
            Event::TaskCreated(spec) => self.create_task(id, spec, entry.at),
            Event::TaskPromoted => self.update(id, |task| {
                task.mode = protocol::TaskMode::Background;
                Ok(())
            }),
            Event::TaskParked { until_at, why } => {
                let parking = Parking { until: *until_at, why: *why };
                self.update(id, |task| task.apply_signal(PhaseSignal::Park(parking), "parked"))
            }
            Event::TaskInterrupted => self.update(id, |task| task.apply_signal(PhaseSignal::Interrupt, "interrupted")),
            Event::TaskRequeued => self.update(id, |task| task.apply_signal(PhaseSignal::Requeue, "requeued")),
            Event::SlotRegained => self.update(id, |task| task.apply_signal(PhaseSignal::Regain, "slot regained")),
            Event::CancelRequested { by, how, until_at } => self.update(id, |task| {
                (task.cancel, task.cancel_until) = (Some((*by, *how)), *until_at);
                Ok(())
            }),
            Event::TaskStalled { .. } => self.update(id, |task| {
                task.stalled = true;
                Ok(())
            }),
            Event::TaskUnstalled => self.update(id, |task| {
                task.stalled = false;
                Ok(())
            }),
            Event::TaskForgotten => self.update(id, |task| {
                task.forgotten = true;
                Ok(())
            }),
            Event::TaskFinished { outcome } => {
                self.update(id, |task| task.apply_signal(PhaseSignal::Finish(outcome.clone()), "finished"))
            }
            Event::ActivationStarted { activation, attempt } => {
                self.update_work(id, |task| task.begin_attempt(*activation, *attempt))
            }
            Event::StartHooksRan { activation, .. } => self.update(id, |task| {
                task.start_hooks_ran = *activation;
                task.pending_stop_hooks.insert(*activation);
                Ok(())
            }),
            Event::StopHooksRan { activation } => self.update(id, |task| {
                task.pending_stop_hooks.remove(activation);
                Ok(())
            }),
            Event::StopBlocked { by, .. } => self.update(id, |task| {
                match by {
                    StopBlocker::Hook => task.stop_blocks += 1,
                    StopBlocker::Expects => task.expectation_retries += 1,
                }
                Ok(())
            }),
            Event::ActivationEnded { outcome, .. } => self.update_work(id, |task| task.end_activation(outcome)),
            Event::MailAdmitted { mail, delivery, from, body } => {
                self.next_mail = mail.0 + 1;
                // A user prompt starts a new count of turns.
                if *from == Principal::User && self.root == Some(id) {
                    self.turns = 0;
                }
                self.update(id, |task| {
                    task.inbox.insert(*mail, *delivery);
                    match body {
                        MailBody::Result { task: source, activation } => {
                            task.results.insert(*mail, (*source, *activation));
                        }
                        // After a message, the next delay for results is short again.
                        MailBody::Text { .. } => task.result_delays = 0,
                    }
                    Ok(())
                })
            }
            Event::MailDelivered { mail } => self.update(id, |task| {
                // A completed task that gets new mail may take more turns.
                task.last_turn = task.last_turn.filter(|last| !last.why().counts_as_completed());
                task.remove_mail(mail)
            }),
            Event::WakeDelayed { until_at } => self.update(id, |task| {
                (task.wake_at, task.result_delays) = (Some(*until_at), task.result_delays + 1);
                Ok(())
            }),
            Event::MailExpired { mail } => self.update(id, |task| task.remove_mail(&[*mail])),
            Event::TurnBegun { turn, reserved, model, price, max_output, quoted } => {
                let most = max_output.unwrap_or(quoted.output);
                let (model, reserved) = (model.clone(), *reserved);
                self.begin_turn(
                    id,
                    *turn,
                    ModelCall { model, reserved, quoted: *quoted, price: *price, max_output: most },
                )
            }
            Event::TurnReservationRaised { reserved, output, .. } => {
                self.raise_turn_reservation(id, *reserved, *output)
            }
            Event::TurnAnswered { content, cost, usage, .. } => {
                let model_call = self.end_turn(id, *cost, work_after_answer(content))?;
                self.calibration.learn(&model_call.model, model_call.quoted, *usage);
                Ok(())
            }
            Event::TurnFailed { cost, .. } => {
                self.end_turn(id, *cost, ActivationWork::BetweenTurns)?;
                // A turn without an answer does not count against the turn limits.
                self.turns = self.turns.saturating_sub(1);
                self.update(id, |task| {
                    task.last_turn = task.last_turn.map(LastTurn::into_due);
                    task.turns = task.turns.saturating_sub(1);
                    Ok(())
                })
            }
            Event::BudgetLow { .. } => self.update(id, |task| {
                task.has_low_budget_warning = true;
                Ok(())
            }),
            Event::WrapUpBegan { why } => self.update(id, |task| {
                task.last_turn = Some(LastTurn::Due(*why));
                Ok(())
            }),
            Event::CallStarted { call } => self.set_call_phase(id, call, CallPhase::Started),
            Event::CallAnswered { call, .. } => self.set_call_phase(id, call, CallPhase::Answered),
            Event::WaitBegan { call, on, mode, until_at } => {
                let wait = CallWait { awaited: on.clone(), mode: *mode, until: *until_at };
                self.set_call_phase(id, call, CallPhase::Waiting(wait))
            }
            Event::AskOpened(ask) => {
                if self.tasks.get(&id).is_some_and(|task| task.kind.asks_user()) {
                    self.update(id, |task| {
                        task.open_own_call(&ask.call);
                        Ok(())
                    })?;
                }
                self.set_call_phase(id, &ask.call, CallPhase::Asking(ask.clone()))
            }
            Event::AskDecided { call, decision, by, .. } => self.end_ask(id, call, decision.clone(), *by),
            Event::WaitEnded { call, why } => self.end_wait(id, call, *why),
        }
    }

    fn create_task(&mut self, id: TaskId, spec: &TaskSpec, at: Timestamp) -> Result<(), InvalidEvent> {
        if self.tasks.contains_key(&id) {
            return Err(InvalidEvent::DuplicateTask(id));
        }
        let (depth, previous_sibling) = match spec.parent {
            None => (0, None),
            Some(parent) => {
                let parent = self.tasks.get_mut(&parent).ok_or(InvalidEvent::UnknownTask(parent))?;
                let previous_sibling = parent.children.last().copied();
                parent.children.push(id);
                parent.child_names.insert(NameHash::of(&spec.name));
                if parent.agents_at_work == 0 {
                    parent.result_delays = 0;
                }
                (parent.depth + 1, previous_sibling)
            }
        };
        if spec.kind.is_root() {
            self.root = Some(id);
        }
        if spec.kind.counts_as_agent() {
            self.count_start(depth, at);
        }
        self.insert(KernelTask::new(id, spec, self.agent_name(previous_sibling, &spec.agent), depth, at));
        Ok(())
    }

    /// The agent's name. To save memory, it is shared with the previous sibling if that has the same one.
    fn agent_name(&self, previous_sibling: Option<TaskId>, agent: &str) -> Arc<str> {
        let previous_sibling = previous_sibling
            .and_then(|id| self.tasks.get(&id))
            .filter(|previous_sibling| *previous_sibling.agent == *agent);
        previous_sibling.map_or_else(|| agent.into(), |previous_sibling| Arc::clone(&previous_sibling.agent))
    }

    /// Counts an agent against the limits. Agents that a subagent starts also count against the spawn rate.
    fn count_start(&mut self, depth: u32, at: Timestamp) {
        self.started_agents += 1;
        if depth > 1 {
            let expired = self.recent_spawns.partition_point(|start| start.plus(RATE_SPAN) <= at);
            // Times in the future are from before the clock was set back.
            self.recent_spawns.truncate(self.recent_spawns.partition_point(|start| *start <= at));
            self.recent_spawns.drain(..expired);
            self.recent_spawns.push_back(at);
        }
    }

    /// How many agents subagents started within the minute before `now`.
    pub(crate) fn recent_starts(&self, now: Timestamp) -> usize {
        let expired = self.recent_spawns.partition_point(|start| start.plus(RATE_SPAN) <= now);
        self.recent_spawns.partition_point(|start| *start <= now) - expired
    }

    fn end_wait(&mut self, id: TaskId, call: &CallId, why: WaitEnd) -> Result<(), InvalidEvent> {
        let task = self.tasks.get(&id).ok_or(InvalidEvent::UnknownTask(id))?;
        let Some(CallPhase::Waiting(wait)) = task.work.call(call) else {
            return Err(task.invalid_transition("wait ended"));
        };
        let on = wait.awaited.clone();
        self.set_call_phase(id, call, CallPhase::Waited { on, why })
    }

    fn end_ask(&mut self, id: TaskId, call: &CallId, decision: AskDecision, by: DecidedBy) -> Result<(), InvalidEvent> {
        let task = self.tasks.get(&id).ok_or(InvalidEvent::UnknownTask(id))?;
        let Some(CallPhase::Asking(ask)) = task.work.call(call) else {
            return Err(task.invalid_transition("ask decided"));
        };
        let decided = DecidedAsk::new(ask, decision, by);
        self.set_call_phase(id, call, CallPhase::Decided(decided))
    }

    fn begin_turn(&mut self, id: TaskId, turn: Turn, model_call: ModelCall) -> Result<(), InvalidEvent> {
        let reserved = model_call.reserved;
        self.turns = self.turns.saturating_add(1);
        self.update_work(id, |task| {
            task.turn = turn;
            task.turns += 1;
            task.last_turn = task.last_turn.map(LastTurn::into_taken);
            task.work = ActivationWork::AwaitingModel(Box::new(model_call));
            task.streamed_tokens = None;
            Ok(())
        })?;
        self.update_ledgers(id, |task| task.ledger.reserve(reserved));
        Ok(())
    }

    fn raise_turn_reservation(&mut self, id: TaskId, reserved: Cost, output: u32) -> Result<(), InvalidEvent> {
        let mut more = Cost::ZERO;
        self.update(id, |task| {
            let impossible = task.invalid_transition("reservation raised");
            let ActivationWork::AwaitingModel(asking) = &mut task.work else { return Err(impossible) };
            more = reserved.minus(asking.reserved);
            asking.reserved = reserved;
            asking.quoted.output = output;
            Ok(())
        })?;
        self.update_ledgers(id, |task| task.ledger.reserve(more));
        Ok(())
    }

    /// Ends the current model call, and returns it.
    fn end_turn(&mut self, id: TaskId, used: Cost, next: ActivationWork) -> Result<Box<ModelCall>, InvalidEvent> {
        let mut model_call = None;
        self.update_work(id, |task| {
            let impossible = task.invalid_transition("turn ended");
            task.streamed_tokens = None;
            match std::mem::replace(&mut task.work, next) {
                ActivationWork::AwaitingModel(asking) => {
                    model_call = Some(asking);
                    Ok(())
                }
                ActivationWork::NotBegun
                | ActivationWork::BetweenTurns
                | ActivationWork::CallingTools(_)
                | ActivationWork::Answered { .. } => Err(impossible),
            }
        })?;
        let model_call = model_call.ok_or(InvalidEvent::UnknownTask(id))?;
        self.update_ledgers(id, |task| task.ledger.settle(model_call.reserved, used));
        Ok(model_call)
    }

    /// Applies a change to the ledgers of the task and of every task above it.
    fn update_ledgers(&mut self, id: TaskId, mut change: impl FnMut(&mut KernelTask)) {
        let mut next = Some(id);
        while let Some(task) = next.and_then(|id| self.tasks.get_mut(&id)) {
            change(task);
            next = task.parent;
        }
    }
}

/// The state of an activation's work after an answer with this content.
fn work_after_answer(content: &[ContentBlock]) -> ActivationWork {
    let calls: BTreeMap<_, _> = content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Call(call) => Some((call.id.clone(), CallPhase::Pending)),
            ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
        })
        .collect();
    if !calls.is_empty() {
        return ActivationWork::CallingTools(calls);
    }
    let text = content.iter().any(|block| matches!(block, ContentBlock::Text { text } if !text.trim().is_empty()));
    ActivationWork::Answered { text }
}

impl KernelTask {
    fn apply_signal(&mut self, signal: PhaseSignal, event: &'static str) -> Result<(), InvalidEvent> {
        let next = self.phase.clone().next(signal).ok_or_else(|| self.invalid_transition(event))?;
        self.phase = next;
        if !self.is_running() {
            self.stalled = false;
            self.lease = None;
        }
        if self.phase != TaskPhase::Idle {
            self.wake_at = None;
        }
        Ok(())
    }

    fn begin_attempt(&mut self, activation: Activation, attempt: Attempt) -> Result<(), InvalidEvent> {
        if self.phase == TaskPhase::Queued(QueuePurpose::Begin) {
            self.work = ActivationWork::NotBegun;
            self.last_turn = None;
            self.turns = 0;
            (self.stop_blocks, self.expectation_retries) = (0, 0);
            self.stopped = false;
        }
        self.apply_signal(PhaseSignal::Admit, "started")?;
        self.activation = activation;
        self.attempt = attempt;
        self.update_slot_status()
    }

    fn end_activation(&mut self, outcome: &TaskOutcome) -> Result<(), InvalidEvent> {
        self.apply_signal(PhaseSignal::EndActivation, "activation ended")?;
        self.work = ActivationWork::NotBegun;
        self.stopped = matches!(outcome, TaskOutcome::Cancelled { .. });
        // Stopping the root ends its activation, not the task.
        if self.kind.is_root() {
            (self.cancel, self.cancel_until) = (None, None);
        }
        Ok(())
    }

    fn remove_mail(&mut self, mail: &[MailId]) -> Result<(), InvalidEvent> {
        for id in mail {
            self.inbox.remove(id).ok_or_else(|| self.invalid_transition("mail delivered"))?;
            self.results.remove(id);
        }
        if self.inbox.is_empty() {
            // An emptied map keeps its memory, and an idle task may never need it again.
            self.inbox = BTreeMap::new();
        }
        Ok(())
    }

    /// Opens the call of a question that the task asks the user itself.
    fn open_own_call(&mut self, call: &CallId) {
        match &mut self.work {
            ActivationWork::CallingTools(calls) => {
                calls.entry(call.clone()).or_insert(CallPhase::Started);
            }
            ActivationWork::NotBegun
            | ActivationWork::BetweenTurns
            | ActivationWork::AwaitingModel(_)
            | ActivationWork::Answered { .. } => {
                self.work = ActivationWork::CallingTools(BTreeMap::from([(call.clone(), CallPhase::Started)]));
            }
        }
    }

    /// Sets the phase of an open call, and returns the previous one.
    pub(crate) fn replace_call(&mut self, call: &CallId, to: CallPhase) -> Result<CallPhase, InvalidEvent> {
        let impossible = self.invalid_transition("call");
        let ActivationWork::CallingTools(calls) = &mut self.work else { return Err(impossible) };
        let from = std::mem::replace(calls.get_mut(call).ok_or(impossible)?, to);
        if calls.values().all(|phase| *phase == CallPhase::Answered) {
            self.work = ActivationWork::BetweenTurns;
        }
        Ok(from)
    }

    /// Lends the slot of a waiting task; queues a task for a slot when its last wait is over.
    pub(crate) fn update_slot_status(&mut self) -> Result<(), InvalidEvent> {
        let TaskPhase::Running(status) = self.phase else { return Ok(()) };
        if !self.needs_slot() {
            return Ok(());
        }
        match (status, self.work.is_waiting()) {
            (SlotStatus::Holding | SlotStatus::Returning, true) => self.apply_signal(PhaseSignal::Lend, "wait began"),
            (SlotStatus::Lent, false) => self.apply_signal(PhaseSignal::Return, "wait ended"),
            (SlotStatus::Holding | SlotStatus::Returning, false) | (SlotStatus::Lent, true) => Ok(()),
        }
    }

    fn invalid_transition(&self, event: &'static str) -> InvalidEvent {
        InvalidEvent::Transition { task: self.id, from: self.phase.state().as_str(), event }
    }
}
