//! The supervisor's loop.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use host::Clock;
use kernel::{Effect, Ending, Input, Kernel, Point, Report};
use protocol::api::CommandFate;
use protocol::{At, Entry, Envelope, Event, FailKind, Run, SessionId, TaskId};
use store::{Batch, Committed, StoreError, Writer};
use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};

use super::link::{Leash, Told};
use super::{Given, Message, Perform, Receipt, Rejected, Reply, Supervisor};
use crate::bus::{Bus, Live};
use crate::grants::{self, Grants};
use crate::redact::Redactor;
use crate::roster::Roster;
use crate::session::Status;

/// How long the supervisor sleeps at most before it looks at the clock again: a machine that slept, or whose
/// clock jumped, is noticed within this time.
const LOOK_UP: Duration = Duration::from_secs(1);

/// Most inputs gathered for one commit.
const GATHER: usize = 256;

/// What the supervisor is made of.
pub(crate) struct Parts {
    pub(crate) session: SessionId,
    pub(crate) kernel: Kernel,
    pub(crate) last_seq: u64,
    pub(crate) writer: Writer,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) bus: Bus,
    pub(crate) redactor: Redactor,
    pub(crate) grants: Arc<Grants>,
    pub(crate) roster: Arc<Roster>,
}

/// What others watch.
pub(super) struct Signs {
    pub(super) status: watch::Sender<Status>,
    pub(super) settle: watch::Sender<u64>,
}

pub(super) struct Actor {
    session: SessionId,
    clock: Arc<dyn Clock>,
    bus: Bus,
    redactor: Redactor,
    grants: Arc<Grants>,
    roster: Arc<Roster>,
    perform: Arc<dyn Perform>,
    supervisor: Supervisor,
    signs: Signs,
    writer: Arc<Writer>,
    /// What is durable.
    durable: Kernel,
    /// What is durable with everything decided since.
    draft: Kernel,
    last_seq: u64,
    /// Decided, and not yet given to the writer.
    decided: Vec<Step>,
    /// Given to the writer.
    committing: Option<Committing>,
    paused: Option<Arc<StoreError>>,
    leashes: BTreeMap<TaskId, Leash>,
    runs: JoinSet<()>,
    run_of: HashMap<Id, Run>,
    /// The kernel's alarm.
    due: Option<Due>,
}

/// A moment of the clock, and how far away it was when it was set: a clock that is set back afterwards does not put
/// it off.
#[derive(Debug, Clone, Copy)]
struct Due {
    at: At,
    set: Instant,
    after: Duration,
}

impl Due {
    fn new(at: At, now: At) -> Due {
        Due { at, set: Instant::now(), after: at.since(now) }
    }

    fn left(self) -> Duration {
        self.after.saturating_sub(self.set.elapsed())
    }

    fn is_over(self) -> bool {
        self.left().is_zero()
    }
}

/// One decided input: what it leads to, and who waits to hear of it.
struct Step {
    effects: Vec<Effect>,
    command: Option<i64>,
    reply: Option<Reply>,
    verdict: Result<(), Rejected>,
}

impl Step {
    /// What whoever left a command reads in the session's file.
    fn fate(&self) -> CommandFate {
        match &self.verdict {
            Ok(()) => CommandFate::Applied { mail: Receipt::of(&self.effects).mail },
            Err(rejected) => CommandFate::Refused { kind: rejected.kind(), message: rejected.to_string() },
        }
    }
}

struct Committing {
    steps: Vec<Step>,
    done: tools::BoxFuture<'static, Result<Committed, StoreError>>,
}

/// What the loop wakes up for.
enum Woken {
    Message(Option<Message>),
    Committed(Result<Committed, StoreError>),
    RunEnded(Result<(Id, ()), JoinError>),
    Time,
}

impl Actor {
    pub(super) fn new(parts: Parts, perform: Arc<dyn Perform>, supervisor: Supervisor, signs: Signs) -> Actor {
        let Parts { session, kernel, last_seq, writer, clock, bus, redactor, grants, roster } = parts;
        Actor {
            session,
            clock,
            bus,
            redactor,
            grants,
            roster,
            perform,
            supervisor,
            signs,
            writer: Arc::new(writer),
            draft: kernel.clone(),
            durable: kernel,
            last_seq,
            decided: Vec::new(),
            committing: None,
            paused: None,
            leashes: BTreeMap::new(),
            runs: JoinSet::new(),
            run_of: HashMap::new(),
            due: None,
        }
    }

    pub(super) async fn run(mut self, mut messages: mpsc::Receiver<Message>) -> Option<Writer> {
        let mut leaving = false;
        while !leaving || self.committing.is_some() {
            match self.wake(&mut messages).await {
                Woken::Message(Some(message)) => {
                    leaving |= self.hear(message);
                    for _ in 1..GATHER {
                        let Ok(message) = messages.try_recv() else { break };
                        leaving |= self.hear(message);
                    }
                }
                Woken::Message(None) => leaving = true,
                Woken::Committed(result) => self.committed(result),
                Woken::RunEnded(ended) => self.run_ended(ended),
                Woken::Time => self.decide(Given::own(Input::Tick)),
            }
            self.commit();
        }
        self.runs.shutdown().await;
        drop((self.perform, self.supervisor));
        Arc::into_inner(self.writer)
    }

    async fn wake(&mut self, messages: &mut mpsc::Receiver<Message>) -> Woken {
        let alarm = self.alarm();
        let committing = self.committing.as_mut();
        tokio::select! {
            biased;
            result = done(committing) => Woken::Committed(result),
            message = messages.recv() => Woken::Message(message),
            Some(ended) = self.runs.join_next_with_id() => Woken::RunEnded(ended),
            () = alarm => Woken::Time,
        }
    }

    /// Sleeps until the kernel's alarm is due, looking at the clock often enough to notice that it jumped ahead.
    fn alarm(&mut self) -> impl Future<Output = ()> + use<> {
        let at = self.draft.alarm().filter(|_| self.paused.is_none());
        if self.due.map(|due| due.at) != at {
            self.due = at.map(|at| Due::new(at, self.clock.now()));
        }
        let (due, clock) = (self.due, Arc::clone(&self.clock));
        async move {
            let Some(due) = due else { return std::future::pending().await };
            loop {
                let left = due.at.since(clock.now()).min(due.left());
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(left.min(LOOK_UP)).await;
            }
        }
    }

    /// Takes a message; tells whether it is time to leave.
    fn hear(&mut self, message: Message) -> bool {
        match message {
            Message::Input(given) => self.decide(*given),
            Message::Look(look) => look(&self.durable),
            Message::Refuse { command, rejected, reply } => match &self.paused {
                Some(reason) => answer(Some(reply), Err(Rejected::Paused(Arc::clone(reason)))),
                None => self.reject(rejected, Some(command), Some(reply)),
            },
            Message::Leave => return true,
        }
        false
    }

    fn decide(&mut self, given: Given) {
        let Given { mut input, command, reply } = given;
        self.redactor.input(&mut input);
        if let Some(reason) = &self.paused {
            return answer(reply, Err(Rejected::Paused(Arc::clone(reason))));
        }
        if let Err(error) = grants::check(&input) {
            return self.reject(Rejected::Rule(error), command, reply);
        }
        if may_break_off(&input) {
            self.note_streams();
        }
        match self.draft.apply(self.now(), input) {
            Ok(mut effects) => {
                effects.iter_mut().for_each(|effect| self.put_words(effect));
                self.decided.push(Step { effects, command, reply, verdict: Ok(()) });
            }
            Err(kernel::Refusal::Impossible(defect)) => {
                tracing::error!(%defect, "the kernel contradicted itself");
                self.redraft();
                answer(reply, Err(kernel::Refusal::Impossible(defect).into()));
            }
            Err(refusal) => self.reject(refusal.into(), command, reply),
        }
    }

    /// Tells the draft how much of each answer has arrived, so that a request that is broken off costs no more.
    fn note_streams(&mut self) {
        let now = self.now();
        for leash in self.leashes.values() {
            let (run, output) = (leash.run, leash.streamed());
            // A run that asks nothing has nothing to note.
            let _not_asking = self.draft.apply(now, Input::Streamed { run, output });
        }
    }

    /// The time. It does not go back while a deadline is due, whatever becomes of the clock.
    fn now(&self) -> At {
        self.due.filter(|due| due.is_over()).map_or(At(0), |due| due.at).max(self.clock.now())
    }

    /// Puts what a run said last where others end it, who know no words.
    fn put_words(&self, effect: &mut Effect) {
        let Effect::Record(Entry { task, event, .. }) = effect else { return };
        let Event::ActivationEnded { outcome, text, .. } = event else { return };
        let by_others = match outcome {
            protocol::Outcome::Cancelled { .. } => true,
            protocol::Outcome::Failed { kind, .. } => *kind == FailKind::Stalled,
            protocol::Outcome::Completed
            | protocol::Outcome::TimedOut { .. }
            | protocol::Outcome::BudgetExhausted
            | protocol::Outcome::Lost => false,
        };
        if by_others && text.is_empty() {
            // Nobody runs a task that is parked, or whose owner has changed.
            *text = self.leashes.get(task).map_or_else(|| self.roster.said(*task), Leash::words);
            self.redactor.broken_off(text);
        }
    }

    /// Says no. A command that cannot be carried out is done with, too: whoever gave it hears so when that is durable,
    /// and does not find it waiting again.
    fn reject(&mut self, rejected: Rejected, command: Option<i64>, reply: Option<Reply>) {
        match command {
            Some(_) => self.decided.push(Step { effects: Vec::new(), command, reply, verdict: Err(rejected) }),
            None => answer(reply, Err(rejected)),
        }
    }

    /// Makes the draft anew from what is durable and what was decided since.
    fn redraft(&mut self) {
        self.draft = self.durable.clone();
        let committing = self.committing.iter().flat_map(|committing| &committing.steps);
        for entry in committing.chain(&self.decided).flat_map(|step| &step.effects).filter_map(record) {
            if let Err(defect) = self.draft.evolve(entry) {
                tracing::error!(%defect, "a decided event contradicts the state");
            }
        }
    }

    /// Gives what is decided to the writer, unless it has its hands full.
    fn commit(&mut self) {
        if self.committing.is_some() || self.decided.is_empty() {
            return;
        }
        let steps = std::mem::take(&mut self.decided);
        let entries: Vec<Entry> = steps.iter().flat_map(|step| &step.effects).filter_map(record).cloned().collect();
        let applied_commands: Vec<_> = steps.iter().filter_map(|step| Some((step.command?, step.fate()))).collect();
        if entries.is_empty() && applied_commands.is_empty() {
            return self.perform_all(steps);
        }
        let writer = Arc::clone(&self.writer);
        let done = Box::pin(async move { writer.commit(Batch { entries, applied_commands }).await });
        self.committing = Some(Committing { steps, done });
    }

    fn committed(&mut self, result: Result<Committed, StoreError>) {
        let Some(Committing { steps, .. }) = self.committing.take() else { return };
        match result {
            Ok(_receipt) => self.perform_all(steps),
            Err(error) => self.pause(error, steps),
        }
    }

    fn perform_all(&mut self, steps: Vec<Step>) {
        let mut answers = Vec::with_capacity(steps.len());
        for step in steps {
            let receipt = Receipt::of(&step.effects);
            for effect in step.effects {
                self.perform(effect);
            }
            answers.extend(step.reply.map(|reply| (reply, step.verdict.map(|()| receipt))));
        }
        // Whoever hears that an input was taken finds it in the status, on whichever thread that is.
        self.show_status();
        for (reply, verdict) in answers {
            answer(Some(reply), verdict);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Record(entry) => self.publish(entry),
            Effect::Start(run) => self.start(run),
            Effect::Go(run) => self.tell(run, Told::Go),
            Effect::WaitOver { run, call, .. } | Effect::AskOver { run, call } => self.tell(run, Told::WaitOver(call)),
            // The events before it tell the run what is dropped.
            Effect::Stop { run, how } => {
                if let Some(leash) = self.leashes.get(&run.task).filter(|leash| leash.run == run) {
                    leash.stop(how);
                }
            }
        }
    }

    fn publish(&mut self, entry: Entry) {
        self.last_seq += 1;
        if let Err(defect) = self.durable.evolve(&entry) {
            tracing::error!(%defect, seq = self.last_seq, "a durable event contradicts the state");
        }
        self.draft.share_task(entry.task, &self.durable);
        self.grants.read(&entry.event);
        self.roster.read(&entry);
        if matches!(entry.event, Event::TurnAnswered { .. } | Event::TurnFailed { .. }) {
            self.signs.settle.send_modify(|settled| *settled += 1);
        }
        let envelope = Arc::new(Envelope { v: Envelope::VERSION, seq: self.last_seq, session: self.session, entry });
        if let Some(leash) = self.leashes.get(&envelope.entry.task) {
            leash.tell_event(Arc::clone(&envelope));
        }
        self.bus.publish(Live::Event(envelope));
    }

    fn start(&mut self, run: Run) {
        let Some(kind) = self.durable.task(run.task).map(|task| task.kind) else { return };
        let (leash, link) = Leash::new(run, self.supervisor.clone());
        if let Some(old) = self.leashes.insert(run.task, leash) {
            old.stop(protocol::Cancel::Abort);
        }
        let handle = self.runs.spawn(self.perform.perform(link, kind));
        self.run_of.insert(handle.id(), run);
    }

    fn tell(&self, run: Run, told: Told) {
        if let Some(leash) = self.leashes.get(&run.task).filter(|leash| leash.run == run) {
            leash.tell(told);
        }
    }

    /// A run has left. If it should not have, its task failed: nothing may stay `running` with nobody at work.
    fn run_ended(&mut self, ended: Result<(Id, ()), JoinError>) {
        let (id, fault) = match ended {
            Ok((id, ())) => (id, None),
            Err(error) => (error.id(), error.is_panic().then(|| error.to_string())),
        };
        let Some(run) = self.run_of.remove(&id) else { return };
        if self.leashes.get(&run.task).is_some_and(|leash| leash.run == run) {
            self.leashes.remove(&run.task);
        }
        let current = self.draft.task(run.task).is_some_and(|task| task.is_running() && task.run() == run);
        if current {
            let message = fault.unwrap_or_else(|| "the run ended without a result".into());
            tracing::error!(%run, message, "a run ended early");
            let ending = Ending::Failed { kind: FailKind::Internal, message };
            // Mail that is not heard would wake the task again, for the same end.
            self.decide(Given::own(Input::Report(run, Report::Boundary(Point::Between))));
            self.decide(Given::own(Input::Report(run, Report::Ended { ending, text: String::new() })));
        }
    }

    /// What was decided cannot be made durable: forget it, stop everything, and say so.
    fn pause(&mut self, error: StoreError, steps: Vec<Step>) {
        tracing::error!(%error, "a commit failed; the session is paused");
        let reason = Arc::new(error);
        self.paused = Some(Arc::clone(&reason));
        self.draft = self.durable.clone();
        // Before the answers: whoever gives up for one of them finds the reason here.
        self.show_status();
        for step in steps.into_iter().chain(std::mem::take(&mut self.decided)) {
            answer(step.reply, Err(Rejected::Paused(Arc::clone(&reason))));
        }
        self.leashes.clear();
        self.runs.abort_all();
    }

    fn show_status(&self) {
        let root = self.durable.root().and_then(|id| self.durable.task(id));
        let status = Status {
            seq: self.last_seq,
            quiet: self.durable.is_quiet(),
            root: root.map(|task| task.phase.state()),
            background: self.durable.busy() - usize::from(root.is_some_and(|task| task.phase.is_busy())),
            asks: self.durable.open_asks(),
            continuation_due: self.durable.is_continuation_due(),
            parked: self.durable.parked(),
            paused: self.paused.clone(),
        };
        self.signs.status.send_if_modified(|shown| {
            let changed = status.is_news_after(shown);
            *shown = status;
            changed
        });
    }
}

impl Given {
    /// An input of the supervisor's own.
    fn own(input: Input) -> Given {
        Given { input, command: None, reply: None }
    }
}

/// Whether an input may end requests of runs other than the one that reports.
fn may_break_off(input: &Input) -> bool {
    match input {
        Input::Report(_, report) => matches!(report, Report::Ended { .. }),
        _other => true,
    }
}

fn record(effect: &Effect) -> Option<&Entry> {
    match effect {
        Effect::Record(entry) => Some(entry),
        Effect::Start(_) | Effect::Go(_) | Effect::WaitOver { .. } | Effect::AskOver { .. } | Effect::Stop { .. } => {
            None
        }
    }
}

/// The end of the commit under way; never, when there is none.
async fn done(committing: Option<&mut Committing>) -> Result<Committed, StoreError> {
    match committing {
        Some(committing) => committing.done.as_mut().await,
        None => std::future::pending().await,
    }
}

/// Answers whoever waits; one that has gone needs no answer.
fn answer(reply: Option<Reply>, result: Result<Receipt, Rejected>) {
    if let Some(reply) = reply {
        let _gone = reply.send(result);
    }
}
