//! The supervisor's loop.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use host::Clock;
use kernel::{BoundaryPoint, Kernel, KernelEffect, KernelInput, RunEnding, RunUpdate};
use protocol::api::CommandOutcome;
use protocol::{Envelope, Event, FailKind, LogEntry, RunId, SessionId, TaskId, Timestamp};
use store::{CommitReceipt, SessionWriter, StoreError, WriteBatch};
use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};

use super::link::{RunHandle, RunMessage};
use super::{ActivationRunner, InputRejection, Receipt, ReplySender, SubmittedInput, Supervisor, SupervisorMessage};
use crate::bus::{BusMessage, EventBus};
use crate::grants::{self, Grants};
use crate::redact::Redactor;
use crate::roster::Roster;
use crate::session::SessionStatus;

/// How long the supervisor sleeps at most before it looks at the clock again: a machine that slept, or whose
/// clock jumped, is noticed within this time.
const LOOK_UP: Duration = Duration::from_secs(1);

/// Most inputs gathered for one commit.
const GATHER: usize = 256;

/// What the supervisor is made of.
pub(crate) struct SupervisorParts {
    pub(crate) session: SessionId,
    pub(crate) kernel: Kernel,
    pub(crate) last_seq: u64,
    pub(crate) writer: SessionWriter,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) bus: EventBus,
    pub(crate) redactor: Redactor,
    pub(crate) grants: Arc<Grants>,
    pub(crate) roster: Arc<Roster>,
}

/// What others watch.
pub(super) struct SupervisorSignals {
    pub(super) status: watch::Sender<SessionStatus>,
    pub(super) settle: watch::Sender<u64>,
}

pub(super) struct Actor {
    session: SessionId,
    clock: Arc<dyn Clock>,
    bus: EventBus,
    redactor: Redactor,
    grants: Arc<Grants>,
    roster: Arc<Roster>,
    perform: Arc<dyn ActivationRunner>,
    supervisor: Supervisor,
    signals: SupervisorSignals,
    writer: Arc<SessionWriter>,
    /// What is durable.
    durable: Kernel,
    /// What is durable with everything decided since.
    draft: Kernel,
    last_seq: u64,
    /// Decided, and not yet given to the writer.
    decided: Vec<DecidedInput>,
    /// Given to the writer.
    committing: Option<PendingCommit>,
    paused: Option<Arc<StoreError>>,
    handles: BTreeMap<TaskId, RunHandle>,
    runs: JoinSet<()>,
    run_of: HashMap<Id, RunId>,
    /// The kernel's alarm.
    alarm_time: Option<AlarmTime>,
}

/// A moment of the clock, and how far away it was when it was set: a clock that is set back afterwards does not put
/// it off.
#[derive(Debug, Clone, Copy)]
struct AlarmTime {
    at: Timestamp,
    set: Instant,
    after: Duration,
}

impl AlarmTime {
    fn new(at: Timestamp, now: Timestamp) -> AlarmTime {
        AlarmTime { at, set: Instant::now(), after: at.since(now) }
    }

    fn left(self) -> Duration {
        self.after.saturating_sub(self.set.elapsed())
    }

    fn is_over(self) -> bool {
        self.left().is_zero()
    }
}

/// One decided input: what it leads to, and who waits to hear of it.
struct DecidedInput {
    effects: Vec<KernelEffect>,
    command: Option<i64>,
    reply: Option<ReplySender>,
    verdict: Result<(), InputRejection>,
}

impl DecidedInput {
    /// What whoever left a command reads in the session's file.
    fn fate(&self) -> CommandOutcome {
        match &self.verdict {
            Ok(()) => CommandOutcome::Applied { mail: Receipt::of(&self.effects).mail },
            Err(rejected) => CommandOutcome::Refused { kind: rejected.kind(), message: rejected.to_string() },
        }
    }
}

struct PendingCommit {
    steps: Vec<DecidedInput>,
    done: tools::BoxFuture<'static, Result<CommitReceipt, StoreError>>,
}

/// What the loop wakes up for.
enum WakeReason {
    Message(Option<SupervisorMessage>),
    Committed(Result<CommitReceipt, StoreError>),
    RunEnded(Result<(Id, ()), JoinError>),
    Time,
}

impl Actor {
    pub(super) fn new(
        parts: SupervisorParts,
        perform: Arc<dyn ActivationRunner>,
        supervisor: Supervisor,
        signs: SupervisorSignals,
    ) -> Actor {
        let SupervisorParts { session, kernel, last_seq, writer, clock, bus, redactor, grants, roster } = parts;
        Actor {
            session,
            clock,
            bus,
            redactor,
            grants,
            roster,
            perform,
            supervisor,
            signals: signs,
            writer: Arc::new(writer),
            draft: kernel.clone(),
            durable: kernel,
            last_seq,
            decided: Vec::new(),
            committing: None,
            paused: None,
            handles: BTreeMap::new(),
            runs: JoinSet::new(),
            run_of: HashMap::new(),
            alarm_time: None,
        }
    }

    pub(super) async fn run(mut self, mut messages: mpsc::Receiver<SupervisorMessage>) -> Option<SessionWriter> {
        let mut leaving = false;
        while !leaving || self.committing.is_some() {
            match self.wake(&mut messages).await {
                WakeReason::Message(Some(message)) => {
                    leaving |= self.handle_message(message);
                    for _ in 1..GATHER {
                        let Ok(message) = messages.try_recv() else { break };
                        leaving |= self.handle_message(message);
                    }
                }
                WakeReason::Message(None) => leaving = true,
                WakeReason::Committed(result) => self.committed(result),
                WakeReason::RunEnded(ended) => self.run_ended(ended),
                WakeReason::Time => self.decide(SubmittedInput::internal(KernelInput::Tick)),
            }
            self.commit();
        }
        self.runs.shutdown().await;
        drop((self.perform, self.supervisor));
        Arc::into_inner(self.writer)
    }

    async fn wake(&mut self, messages: &mut mpsc::Receiver<SupervisorMessage>) -> WakeReason {
        let alarm = self.alarm();
        let committing = self.committing.as_mut();
        tokio::select! {
            biased;
            result = commit_done(committing) => WakeReason::Committed(result),
            message = messages.recv() => WakeReason::Message(message),
            Some(ended) = self.runs.join_next_with_id() => WakeReason::RunEnded(ended),
            () = alarm => WakeReason::Time,
        }
    }

    /// Sleeps until the kernel's alarm is due, looking at the clock often enough to notice that it jumped ahead.
    fn alarm(&mut self) -> impl Future<Output = ()> + use<> {
        let at = self.draft.next_alarm().filter(|_| self.paused.is_none());
        if self.alarm_time.map(|due| due.at) != at {
            self.alarm_time = at.map(|at| AlarmTime::new(at, self.clock.now()));
        }
        let (due, clock) = (self.alarm_time, Arc::clone(&self.clock));
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
    fn handle_message(&mut self, message: SupervisorMessage) -> bool {
        match message {
            SupervisorMessage::Input(given) => self.decide(*given),
            SupervisorMessage::Query(look) => look(&self.durable),
            SupervisorMessage::Refuse { command, rejected, reply } => match &self.paused {
                Some(reason) => send_reply(Some(reply), Err(InputRejection::Paused(Arc::clone(reason)))),
                None => self.reject(rejected, Some(command), Some(reply)),
            },
            SupervisorMessage::Leave => return true,
        }
        false
    }

    fn decide(&mut self, given: SubmittedInput) {
        let SubmittedInput { mut input, command, reply } = given;
        self.redactor.redact_input(&mut input);
        if let Some(reason) = &self.paused {
            return send_reply(reply, Err(InputRejection::Paused(Arc::clone(reason))));
        }
        if let Err(error) = grants::check(&input) {
            return self.reject(InputRejection::Rule(error), command, reply);
        }
        if may_end_requests(&input) {
            self.record_streamed();
        }
        match self.draft.apply(self.now(), input) {
            Ok(mut effects) => {
                effects.iter_mut().for_each(|effect| self.fill_latest_text(effect));
                self.decided.push(DecidedInput { effects, command, reply, verdict: Ok(()) });
            }
            Err(kernel::InputRefusal::InvalidEvent(defect)) => {
                tracing::error!(%defect, "the kernel contradicted itself");
                self.redraft();
                send_reply(reply, Err(kernel::InputRefusal::InvalidEvent(defect).into()));
            }
            Err(refusal) => self.reject(refusal.into(), command, reply),
        }
    }

    /// Tells the draft how much of each answer has arrived, so that a request that is broken off costs no more.
    fn record_streamed(&mut self) {
        let now = self.now();
        for handle in self.handles.values() {
            let (run, output) = (handle.run, handle.streamed());
            // A run that asks nothing has nothing to note.
            let _not_asking = self.draft.apply(now, KernelInput::Streamed { run, output });
        }
    }

    /// The time. It does not go back while a deadline is due, whatever becomes of the clock.
    fn now(&self) -> Timestamp {
        self.alarm_time.filter(|due| due.is_over()).map_or(Timestamp(0), |due| due.at).max(self.clock.now())
    }

    /// Puts what a run said last where others end it, who know no words.
    fn fill_latest_text(&self, effect: &mut KernelEffect) {
        let KernelEffect::Record(LogEntry { task, event, .. }) = effect else { return };
        let Event::ActivationEnded { outcome, text, .. } = event else { return };
        let by_others = match outcome {
            protocol::TaskOutcome::Cancelled { .. } => true,
            protocol::TaskOutcome::Failed { kind, .. } => *kind == FailKind::Stalled,
            protocol::TaskOutcome::Completed
            | protocol::TaskOutcome::TimedOut { .. }
            | protocol::TaskOutcome::BudgetExhausted
            | protocol::TaskOutcome::Lost => false,
        };
        if by_others && text.is_empty() {
            // Nobody runs a task that is parked, or whose owner has changed.
            *text = self.handles.get(task).map_or_else(|| self.roster.latest_text(*task), RunHandle::latest_text);
            self.redactor.redact_truncated(text);
        }
    }

    /// Says no. A command that cannot be carried out is done with, too: whoever gave it hears so when that is durable,
    /// and does not find it waiting again.
    fn reject(&mut self, rejected: InputRejection, command: Option<i64>, reply: Option<ReplySender>) {
        match command {
            Some(_) => self.decided.push(DecidedInput { effects: Vec::new(), command, reply, verdict: Err(rejected) }),
            None => send_reply(reply, Err(rejected)),
        }
    }

    /// Makes the draft anew from what is durable and what was decided since.
    fn redraft(&mut self) {
        self.draft = self.durable.clone();
        let committing = self.committing.iter().flat_map(|committing| &committing.steps);
        for entry in committing.chain(&self.decided).flat_map(|step| &step.effects).filter_map(recorded_entry) {
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
        let entries: Vec<LogEntry> =
            steps.iter().flat_map(|step| &step.effects).filter_map(recorded_entry).cloned().collect();
        let applied_commands: Vec<_> = steps.iter().filter_map(|step| Some((step.command?, step.fate()))).collect();
        if entries.is_empty() && applied_commands.is_empty() {
            return self.perform_all(steps);
        }
        let writer = Arc::clone(&self.writer);
        let done = Box::pin(async move { writer.commit(WriteBatch { entries, applied_commands }).await });
        self.committing = Some(PendingCommit { steps, done });
    }

    fn committed(&mut self, result: Result<CommitReceipt, StoreError>) {
        let Some(PendingCommit { steps, .. }) = self.committing.take() else { return };
        match result {
            Ok(_receipt) => self.perform_all(steps),
            Err(error) => self.pause(error, steps),
        }
    }

    fn perform_all(&mut self, steps: Vec<DecidedInput>) {
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
            send_reply(Some(reply), verdict);
        }
    }

    fn perform(&mut self, effect: KernelEffect) {
        match effect {
            KernelEffect::Record(entry) => self.publish(entry),
            KernelEffect::Start(run) => self.start(run),
            KernelEffect::MayProceed(run) => self.send_to_run(run, RunMessage::Go),
            KernelEffect::WaitOver { run, call, .. } | KernelEffect::AskOver { run, call } => {
                self.send_to_run(run, RunMessage::WaitOver(call))
            }
            // The events before it tell the run what is dropped.
            KernelEffect::Stop { run, how } => {
                if let Some(handle) = self.handles.get(&run.task).filter(|handle| handle.run == run) {
                    handle.stop(how);
                }
            }
        }
    }

    fn publish(&mut self, entry: LogEntry) {
        self.last_seq += 1;
        if let Err(defect) = self.durable.evolve(&entry) {
            tracing::error!(%defect, seq = self.last_seq, "a durable event contradicts the state");
        }
        self.draft.share_task(entry.task, &self.durable);
        self.grants.read(&entry.event);
        self.roster.read(&entry);
        if matches!(entry.event, Event::TurnAnswered { .. } | Event::TurnFailed { .. }) {
            self.signals.settle.send_modify(|settled| *settled += 1);
        }
        let envelope = Arc::new(Envelope { v: Envelope::VERSION, seq: self.last_seq, session: self.session, entry });
        if let Some(handle) = self.handles.get(&envelope.entry.task) {
            handle.send_event(Arc::clone(&envelope));
        }
        self.bus.publish(BusMessage::Event(envelope));
    }

    fn start(&mut self, run: RunId) {
        let Some(kind) = self.durable.task(run.task).map(|task| task.kind) else { return };
        let (handle, link) = RunHandle::new(run, self.supervisor.clone());
        if let Some(old) = self.handles.insert(run.task, handle) {
            old.stop(protocol::CancelMode::Abort);
        }
        let handle = self.runs.spawn(self.perform.perform(link, kind));
        self.run_of.insert(handle.id(), run);
    }

    fn send_to_run(&self, run: RunId, told: RunMessage) {
        if let Some(handle) = self.handles.get(&run.task).filter(|handle| handle.run == run) {
            handle.send(told);
        }
    }

    /// A run has left. If it should not have, its task failed: nothing may stay `running` with nobody at work.
    fn run_ended(&mut self, ended: Result<(Id, ()), JoinError>) {
        let (id, fault) = match ended {
            Ok((id, ())) => (id, None),
            Err(error) => (error.id(), error.is_panic().then(|| error.to_string())),
        };
        let Some(run) = self.run_of.remove(&id) else { return };
        if self.handles.get(&run.task).is_some_and(|handle| handle.run == run) {
            self.handles.remove(&run.task);
        }
        let current = self.draft.task(run.task).is_some_and(|task| task.is_running() && task.run_id() == run);
        if current {
            let message = fault.unwrap_or_else(|| "the run ended without a result".into());
            tracing::error!(%run, message, "a run ended early");
            let ending = RunEnding::Failed { kind: FailKind::Internal, message };
            // Mail that is not heard would wake the task again, for the same end.
            self.decide(SubmittedInput::internal(KernelInput::Report(
                run,
                RunUpdate::Boundary(BoundaryPoint::Between),
            )));
            self.decide(SubmittedInput::internal(KernelInput::Report(
                run,
                RunUpdate::Ended { ending, text: String::new() },
            )));
        }
    }

    /// What was decided cannot be made durable: forget it, stop everything, and say so.
    fn pause(&mut self, error: StoreError, steps: Vec<DecidedInput>) {
        tracing::error!(%error, "a commit failed; the session is paused");
        let reason = Arc::new(error);
        self.paused = Some(Arc::clone(&reason));
        self.draft = self.durable.clone();
        // Before the answers: whoever gives up for one of them finds the reason here.
        self.show_status();
        for step in steps.into_iter().chain(std::mem::take(&mut self.decided)) {
            send_reply(step.reply, Err(InputRejection::Paused(Arc::clone(&reason))));
        }
        self.handles.clear();
        self.runs.abort_all();
    }

    fn show_status(&self) {
        let root = self.durable.root().and_then(|id| self.durable.task(id));
        let status = SessionStatus {
            seq: self.last_seq,
            quiet: self.durable.is_quiet(),
            root: root.map(|task| task.phase.state()),
            background: self.durable.busy_tasks() - usize::from(root.is_some_and(|task| task.phase.is_busy())),
            asks: self.durable.open_asks(),
            continuation_due: self.durable.is_continuation_due(),
            parked: self.durable.parked(),
            paused: self.paused.clone(),
        };
        self.signals.status.send_if_modified(|shown| {
            let changed = status.is_news_after(shown);
            *shown = status;
            changed
        });
    }
}

impl SubmittedInput {
    /// An input of the supervisor's own.
    fn internal(input: KernelInput) -> SubmittedInput {
        SubmittedInput { input, command: None, reply: None }
    }
}

/// Whether an input may end requests of runs other than the one that reports.
fn may_end_requests(input: &KernelInput) -> bool {
    match input {
        KernelInput::Report(_, report) => matches!(report, RunUpdate::Ended { .. }),
        _other => true,
    }
}

fn recorded_entry(effect: &KernelEffect) -> Option<&LogEntry> {
    match effect {
        KernelEffect::Record(entry) => Some(entry),
        KernelEffect::Start(_)
        | KernelEffect::MayProceed(_)
        | KernelEffect::WaitOver { .. }
        | KernelEffect::AskOver { .. }
        | KernelEffect::Stop { .. } => None,
    }
}

/// The end of the commit under way; never, when there is none.
async fn commit_done(committing: Option<&mut PendingCommit>) -> Result<CommitReceipt, StoreError> {
    match committing {
        Some(committing) => committing.done.as_mut().await,
        None => std::future::pending().await,
    }
}

/// Answers whoever waits; one that has gone needs no answer.
fn send_reply(reply: Option<ReplySender>, result: Result<Receipt, InputRejection>) {
    if let Some(reply) = reply {
        let _gone = reply.send(result);
    }
}
