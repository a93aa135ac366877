//! How an event changes the state. There is no other way to change it, but for leases, which are not durable.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use protocol::{
    Activation, At, Attempt, Block, Body, CallId, Cost, DecidedBy, Decision, Entry, Event, Holder, Kind, MailId,
    Origin, Outcome, TaskId, TaskSpec, Turn, WaitEnd,
};

use crate::state::{Admission, State};
use crate::task::NameHash;
use crate::{Asking, CallPhase, Decided, Footing, Last, Parking, Phase, Purpose, Signal, Standing, Task, Wait, Work};

/// The time that a rate is counted over.
const RATE_SPAN: Duration = Duration::from_secs(60);

/// An event that contradicts the state it comes to: the log is damaged, or the kernel has a defect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Impossible {
    /// It speaks of a task that does not exist.
    #[error("an event names task {0}, which does not exist")]
    NoTask(TaskId),
    /// It makes a task that exists.
    #[error("an event makes task {0}, which exists")]
    SameTask(TaskId),
    /// It moves a task in a way that no task can move.
    #[error("task {task} is {from} and cannot take the event {event}")]
    Move {
        /// The task.
        task: TaskId,
        /// Its state.
        from: &'static str,
        /// The event.
        event: &'static str,
    },
}

impl State {
    /// Folds one durable event.
    pub(crate) fn evolve(&mut self, entry: &Entry) -> Result<(), Impossible> {
        let id = entry.task;
        self.steer(entry);
        match &entry.event {
            Event::SessionOpened(terms) => {
                self.max_turns = terms.max_turns;
                Ok(())
            }
            Event::WorkPlaced { .. }
            | Event::WorkSealed { .. }
            | Event::WorkMerged { .. }
            | Event::ItemChanged { .. }
            | Event::IntentReported { .. }
            | Event::PromptSuggested { .. }
            | Event::ModelDiffered { .. }
            | Event::Compacted(_)
            | Event::CallRewritten { .. }
            | Event::ToolsLoaded { .. }
            | Event::ModeChanged { .. }
            | Event::ModelChanged { .. }
            | Event::AutopilotContinued { .. }
            | Event::AutopilotStopped { .. }
            | Event::BudgetAwaited
            | Event::Unknown => Ok(()),
            // Whoever greeted what was copied parts from it, in the original.
            Event::SessionForked { .. } => {
                self.tasks.some_mut(|task| !task.unparted.is_empty()).for_each(|task| task.unparted.clear());
                // What a client does is done once, in the original.
                self.errands.clear();
                Ok(())
            }
            Event::AgentSelected { agent, .. } => self.update(id, |root| {
                root.agent = agent.as_str().into();
                Ok(())
            }),
            Event::ErrandChanged { errand } => {
                self.errands.insert(errand.id.clone(), (**errand).clone());
                Ok(())
            }
            Event::ErrandForgotten { id } => {
                self.errands.remove(id);
                Ok(())
            }
            Event::AgentDefined { id, .. } => {
                self.defined.insert(id.clone());
                Ok(())
            }
            Event::SessionAdopted { fence, terms } => {
                self.fence = *fence;
                (self.max_turns, self.turns) = (terms.max_turns, 0);
                self.update(id, |root| {
                    root.max_turns = terms.root_turns;
                    root.ledger.budget = terms.budget;
                    root.told_low = root.told_low && root.ledger.is_low();
                    // The new owner has a budget and a time of its own, and says itself which turn is the last.
                    let answered = matches!(root.work, Work::Answered { .. } | Work::Acting(_));
                    root.last = root.last.filter(|last| matches!(last, Last::Taken(_)) && answered);
                    Ok(())
                })
            }
            Event::TodosChanged { changed, gone, .. } => {
                gone.iter().for_each(|todo| self.graph.drop(todo));
                changed.iter().for_each(|todo| self.graph.put(todo));
                Ok(())
            }
            Event::FleetBegan(terms) => {
                self.graph.begin(terms.clone());
                self.turns = 0;
                Ok(())
            }
            Event::TodoClaimed { todo, fence } => {
                self.graph.fence = *fence;
                self.graph.stand(todo, Standing::Claimed { task: id, fence: *fence });
                Ok(())
            }
            Event::TodoReturned { todo, failure, .. } => {
                if failure.is_some() {
                    self.graph.fail(todo);
                }
                self.graph.stand(todo, Standing::Pending);
                Ok(())
            }
            Event::TodoDone { todo, .. } => {
                self.graph.stand(todo, Standing::Done);
                Ok(())
            }
            Event::TodoBlocked { todo, why } => {
                self.graph.stand(todo, Standing::Blocked(why.clone()));
                Ok(())
            }
            Event::TodoFreed { todo } => {
                self.graph.free(todo);
                Ok(())
            }
            Event::FleetEnded { .. } => {
                self.graph.fleet = None;
                Ok(())
            }
            Event::AdmissionClosed => {
                self.admission = Admission::Closed;
                self.keep_asleep();
                Ok(())
            }
            Event::AdmissionOpened => {
                self.admission = Admission::Open;
                Ok(())
            }
            Event::TaskCreated(spec) => self.create(id, spec, entry.at),
            Event::TaskPromoted => self.update(id, |task| {
                task.mode = protocol::Mode::Background;
                Ok(())
            }),
            Event::TaskParked { until_at, why } => {
                let parking = Parking { until: *until_at, why: *why };
                self.update(id, |task| task.go(Signal::Park(parking), "parked"))
            }
            Event::TaskInterrupted => self.update(id, |task| task.go(Signal::Interrupt, "interrupted")),
            Event::TaskRequeued => self.update(id, |task| task.go(Signal::Requeue, "requeued")),
            Event::SlotRegained => self.update(id, |task| task.go(Signal::Regain, "slot regained")),
            Event::CancelRequested { by, how, until_at } => self.update(id, |task| {
                (task.cancel, task.cancel_until) = (Some((*by, *how)), *until_at);
                Ok(())
            }),
            Event::TaskStalled { .. } => self.update(id, |task| {
                task.stalled = true;
                Ok(())
            }),
            Event::TaskStirred => self.update(id, |task| {
                task.stalled = false;
                Ok(())
            }),
            Event::TaskForgotten => self.update(id, |task| {
                task.forgotten = true;
                Ok(())
            }),
            Event::TaskFinished { outcome } => {
                self.update(id, |task| task.go(Signal::Finish(outcome.clone()), "finished"))
            }
            Event::ActivationStarted { activation, attempt } => {
                self.rework(id, |task| task.begin(*activation, *attempt))
            }
            Event::ActivationGreeted { activation, .. } => self.update(id, |task| {
                task.greeted = *activation;
                task.unparted.insert(*activation);
                Ok(())
            }),
            Event::ActivationParted { activation } => self.update(id, |task| {
                task.unparted.remove(activation);
                Ok(())
            }),
            Event::StopHeld { by, .. } => self.update(id, |task| {
                match by {
                    Holder::Hook => task.holds += 1,
                    Holder::Expects => task.repairs += 1,
                }
                Ok(())
            }),
            Event::ActivationEnded { outcome, .. } => self.rework(id, |task| task.rest(outcome)),
            Event::MailAdmitted { mail, delivery, from, body } => {
                self.next_mail = mail.0 + 1;
                // What a person asks for is a run of its own.
                if *from == Origin::User && self.root == Some(id) {
                    self.turns = 0;
                }
                self.update(id, |task| {
                    task.inbox.insert(*mail, *delivery);
                    match body {
                        Body::Result { task: of, activation } => {
                            task.results.insert(*mail, (*of, *activation));
                        }
                        // Whoever is spoken to is not only woken by results.
                        Body::Text { .. } => task.delays = 0,
                    }
                    Ok(())
                })
            }
            Event::MailDelivered { mail } => self.update(id, |task| {
                // Whoever is told more has more to say than a last word.
                task.last = task.last.filter(|last| !last.why().completes());
                task.unmail(mail)
            }),
            Event::WakeDelayed { until_at } => self.update(id, |task| {
                (task.wake_at, task.delays) = (Some(*until_at), task.delays + 1);
                Ok(())
            }),
            Event::MailExpired { mail } => self.update(id, |task| task.unmail(&[*mail])),
            Event::TurnBegun { turn, reserved, model, price, max_output, quoted } => {
                let most = max_output.unwrap_or(quoted.output);
                let (model, reserved) = (model.clone(), *reserved);
                self.begin_turn(id, *turn, Asking { model, reserved, quoted: *quoted, price: *price, most })
            }
            Event::TurnGrew { reserved, output, .. } => self.grow_turn(id, *reserved, *output),
            Event::TurnAnswered { content, cost, usage, .. } => {
                let asked = self.end_turn(id, *cost, answered(content))?;
                self.counts.learn(&asked.model, asked.quoted, *usage);
                Ok(())
            }
            Event::TurnFailed { cost, .. } => {
                self.end_turn(id, *cost, Work::Boundary)?;
                // A try that brought no answer does not count against the limits of turns.
                self.turns = self.turns.saturating_sub(1);
                self.update(id, |task| {
                    task.last = task.last.map(Last::due);
                    task.turns = task.turns.saturating_sub(1);
                    Ok(())
                })
            }
            Event::BudgetLow { .. } => self.update(id, |task| {
                task.told_low = true;
                Ok(())
            }),
            Event::WrapUpBegan { why } => self.update(id, |task| {
                task.last = Some(Last::Due(*why));
                Ok(())
            }),
            Event::CallStarted { call } => self.move_call(id, call, CallPhase::Started),
            Event::CallAnswered { call, .. } => self.move_call(id, call, CallPhase::Answered),
            Event::WaitBegan { call, on, mode, until_at } => {
                let wait = Wait { on: on.clone(), mode: *mode, until: *until_at };
                self.move_call(id, call, CallPhase::Waiting(wait))
            }
            Event::Asked(ask) => self.move_call(id, &ask.call, CallPhase::Asking(ask.clone())),
            Event::AskDecided { call, decision, by, .. } => self.end_ask(id, call, decision.clone(), *by),
            Event::WaitEnded { call, why } => self.end_wait(id, call, *why),
        }
    }

    fn create(&mut self, id: TaskId, spec: &TaskSpec, at: At) -> Result<(), Impossible> {
        if self.tasks.contains_key(&id) {
            return Err(Impossible::SameTask(id));
        }
        let (depth, older) = match spec.parent {
            None => (0, None),
            Some(parent) => {
                let parent = self.tasks.get_mut(&parent).ok_or(Impossible::NoTask(parent))?;
                let older = parent.children.last().copied();
                parent.children.push(id);
                parent.names.insert(NameHash::of(&spec.name));
                if parent.at_work == 0 {
                    parent.delays = 0;
                }
                (parent.depth + 1, older)
            }
        };
        match spec.kind {
            Kind::Main => self.root = Some(id),
            Kind::Agent => self.count_start(depth, at),
            Kind::Shell => {}
        }
        self.insert(Task::new(id, spec, self.agent_name(older, &spec.agent), depth));
        Ok(())
    }

    /// The name of a definition, kept once for children of one parent that are started one after the other.
    fn agent_name(&self, older: Option<TaskId>, agent: &str) -> Arc<str> {
        let older = older.and_then(|id| self.tasks.get(&id)).filter(|older| *older.agent == *agent);
        older.map_or_else(|| agent.into(), |older| Arc::clone(&older.agent))
    }

    /// Counts an agent against the limits. What a subagent starts counts against their rate as well.
    fn count_start(&mut self, depth: u32, at: At) {
        self.started += 1;
        if depth > 1 {
            let over = self.recent.partition_point(|start| start.plus(RATE_SPAN) <= at);
            // Moments that are still to come were told by a clock that has gone back since.
            self.recent.truncate(self.recent.partition_point(|start| *start <= at));
            self.recent.drain(..over);
            self.recent.push_back(at);
        }
    }

    /// How many agents were started by others below the root within the minute before `now`.
    pub(crate) fn recent_starts(&self, now: At) -> usize {
        let over = self.recent.partition_point(|start| start.plus(RATE_SPAN) <= now);
        self.recent.partition_point(|start| *start <= now) - over
    }

    fn end_wait(&mut self, id: TaskId, call: &CallId, why: WaitEnd) -> Result<(), Impossible> {
        let task = self.tasks.get(&id).ok_or(Impossible::NoTask(id))?;
        let Some(CallPhase::Waiting(wait)) = task.work.call(call) else {
            return Err(task.impossible("wait ended"));
        };
        let on = wait.on.clone();
        self.move_call(id, call, CallPhase::Waited { on, why })
    }

    fn end_ask(&mut self, id: TaskId, call: &CallId, decision: Decision, by: DecidedBy) -> Result<(), Impossible> {
        let task = self.tasks.get(&id).ok_or(Impossible::NoTask(id))?;
        let Some(CallPhase::Asking(ask)) = task.work.call(call) else {
            return Err(task.impossible("ask decided"));
        };
        let decided = Decided::on(ask, decision, by);
        self.move_call(id, call, CallPhase::Decided(decided))
    }

    fn begin_turn(&mut self, id: TaskId, turn: Turn, asking: Asking) -> Result<(), Impossible> {
        let reserved = asking.reserved;
        self.turns = self.turns.saturating_add(1);
        self.rework(id, |task| {
            task.turn = turn;
            task.turns += 1;
            task.last = task.last.map(Last::taken);
            task.work = Work::Asking(Box::new(asking));
            task.streamed = None;
            Ok(())
        })?;
        self.book(id, |task| task.ledger.reserve(reserved));
        Ok(())
    }

    fn grow_turn(&mut self, id: TaskId, reserved: Cost, output: u32) -> Result<(), Impossible> {
        let mut more = Cost::ZERO;
        self.update(id, |task| {
            let impossible = task.impossible("turn grew");
            let Work::Asking(asking) = &mut task.work else { return Err(impossible) };
            more = reserved.minus(asking.reserved);
            asking.reserved = reserved;
            asking.quoted.output = output;
            Ok(())
        })?;
        self.book(id, |task| task.ledger.reserve(more));
        Ok(())
    }

    /// Ends the model call under way, and tells what was asked.
    fn end_turn(&mut self, id: TaskId, used: Cost, next: Work) -> Result<Box<Asking>, Impossible> {
        let mut asked = None;
        self.rework(id, |task| {
            let impossible = task.impossible("turn ended");
            task.streamed = None;
            match std::mem::replace(&mut task.work, next) {
                Work::Asking(asking) => {
                    asked = Some(asking);
                    Ok(())
                }
                Work::Fresh | Work::Boundary | Work::Acting(_) | Work::Answered { .. } => Err(impossible),
            }
        })?;
        let asked = asked.ok_or(Impossible::NoTask(id))?;
        self.book(id, |task| task.ledger.settle(asked.reserved, used));
        Ok(asked)
    }

    /// Books on the task's account and on every account above it.
    fn book(&mut self, id: TaskId, mut entry: impl FnMut(&mut Task)) {
        let mut next = Some(id);
        while let Some(task) = next.and_then(|id| self.tasks.get_mut(&id)) {
            entry(task);
            next = task.parent;
        }
    }
}

/// What an answer leaves to do.
fn answered(content: &[Block]) -> Work {
    let calls: BTreeMap<_, _> = content
        .iter()
        .filter_map(|block| match block {
            Block::Call(call) => Some((call.id.clone(), CallPhase::Pending)),
            Block::Text { .. } | Block::Thinking { .. } | Block::Opaque { .. } => None,
        })
        .collect();
    if !calls.is_empty() {
        return Work::Acting(calls);
    }
    let text = content.iter().any(|block| matches!(block, Block::Text { text } if !text.trim().is_empty()));
    Work::Answered { text }
}

impl Task {
    fn go(&mut self, signal: Signal, event: &'static str) -> Result<(), Impossible> {
        let next = self.phase.clone().next(signal).ok_or_else(|| self.impossible(event))?;
        self.phase = next;
        if !self.is_running() {
            self.stalled = false;
            self.lease = None;
        }
        if self.phase != Phase::Idle {
            self.wake_at = None;
        }
        Ok(())
    }

    fn begin(&mut self, activation: Activation, attempt: Attempt) -> Result<(), Impossible> {
        if self.phase == Phase::Queued(Purpose::Begin) {
            self.work = Work::Fresh;
            self.last = None;
            self.turns = 0;
            (self.holds, self.repairs) = (0, 0);
            self.stopped = false;
        }
        self.go(Signal::Admit, "started")?;
        self.activation = activation;
        self.attempt = attempt;
        self.refoot()
    }

    fn rest(&mut self, outcome: &Outcome) -> Result<(), Impossible> {
        self.go(Signal::Rest, "activation ended")?;
        self.work = Work::Fresh;
        self.stopped = matches!(outcome, Outcome::Cancelled { .. });
        // Stopping the root ends its activation, not its life.
        if self.kind == Kind::Main {
            (self.cancel, self.cancel_until) = (None, None);
        }
        Ok(())
    }

    fn unmail(&mut self, mail: &[MailId]) -> Result<(), Impossible> {
        for id in mail {
            self.inbox.remove(id).ok_or_else(|| self.impossible("mail delivered"))?;
            self.results.remove(id);
        }
        if self.inbox.is_empty() {
            // An emptied map keeps room for more, and a task that rests may never have any.
            self.inbox = BTreeMap::new();
        }
        Ok(())
    }

    /// Puts an open call where the event says, and tells where it was.
    pub(crate) fn replace_call(&mut self, call: &CallId, to: CallPhase) -> Result<CallPhase, Impossible> {
        let impossible = self.impossible("call");
        let Work::Acting(calls) = &mut self.work else { return Err(impossible) };
        let from = std::mem::replace(calls.get_mut(call).ok_or(impossible)?, to);
        if calls.values().all(|phase| *phase == CallPhase::Answered) {
            self.work = Work::Boundary;
        }
        Ok(from)
    }

    /// A task that waits lends its slot; one whose last wait is over lines up for a slot.
    pub(crate) fn refoot(&mut self) -> Result<(), Impossible> {
        let Phase::Running(footing) = self.phase else { return Ok(()) };
        if !self.needs_slot() {
            return Ok(());
        }
        match (footing, self.work.is_waiting()) {
            (Footing::Slot | Footing::Returning, true) => self.go(Signal::Lend, "wait began"),
            (Footing::Lent, false) => self.go(Signal::Return, "wait ended"),
            (Footing::Slot | Footing::Returning, false) | (Footing::Lent, true) => Ok(()),
        }
    }

    fn impossible(&self, event: &'static str) -> Impossible {
        Impossible::Move { task: self.id, from: self.phase.state().word(), event }
    }
}
