//! The supervisor's loop.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use host::Clock;
use kernel::{BoundaryPoint, Kernel, KernelEffect, KernelInput, RunEnding, RunUpdate};
use protocol::api::CommandOutcome;
use protocol::{CancelBy, Envelope, Event, FailKind, LogEntry, RunId, SessionId, TaskId, TaskOutcome, Timestamp};
use store::{CommitReceipt, SessionWriter, StoreError, WriteBatch};
use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};

use super::link::{RunHandle, RunMessage};
use super::reader_waits::ReaderWaits;
use super::{FleetActivity, InputRejection, Receipt, ReplySender, SubmittedInput, Supervisor, SupervisorMessage};
use crate::bus::{BusMessage, EventBus};
use crate::executors::Executors;
use crate::grants::{self, Grants};
use crate::redact::Redactor;
use crate::roster::Roster;
use crate::session::SessionStatus;

/// The longest sleep before the supervisor checks the clock again, so that it soon notices a machine that slept or a
/// clock that jumped.
const CLOCK_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The most inputs gathered for one commit.
const MAX_BATCH_INPUTS: usize = 256;

/// The parts that the supervisor is built from.
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

/// Values that other parts of the runtime watch.
pub(super) struct SupervisorSignals {
    pub(super) status: watch::Sender<SessionStatus>,
    /// How many model requests have been settled.
    pub(super) settled_requests: watch::Sender<u64>,
}

/// The state of the supervisor's loop.
pub(super) struct Actor {
    session: SessionId,
    clock: Arc<dyn Clock>,
    bus: EventBus,
    redactor: Redactor,
    grants: Arc<Grants>,
    roster: Arc<Roster>,
    executors: Executors,
    supervisor: Supervisor,
    signals: SupervisorSignals,
    writer: Arc<SessionWriter>,
    /// The committed state.
    durable: Kernel,
    /// The committed state plus everything decided since.
    draft: Kernel,
    /// The sequence number of the last committed event.
    last_seq: u64,
    /// Decided inputs that the writer does not have yet.
    decided: Vec<DecidedInput>,
    /// The commit in progress.
    committing: Option<PendingCommit>,
    /// The error that paused the session, if one did.
    paused: Option<Arc<StoreError>>,
    /// The handle of each task's current run.
    handles: BTreeMap<TaskId, RunHandle>,
    /// The waits of readers.
    reader_waits: ReaderWaits,
    runs: JoinSet<()>,
    /// What remains to be done for cancelled tasks.
    cancellations: JoinSet<()>,
    /// The run that each Tokio task in `runs` performs.
    run_of: HashMap<Id, RunId>,
    /// The kernel's next alarm.
    alarm_time: Option<AlarmTime>,
    /// Whether this process drives a fleet.
    fleet_activity: FleetActivity,
}

/// The time of an alarm, also as a duration since it was set, so that setting the clock back does not delay the alarm.
#[derive(Debug, Clone, Copy)]
struct AlarmTime {
    due_at: Timestamp,
    set_at: Instant,
    delay: Duration,
}

impl AlarmTime {
    fn new(at: Timestamp, now: Timestamp) -> AlarmTime {
        AlarmTime { due_at: at, set_at: Instant::now(), delay: at.since(now) }
    }

    fn remaining(self) -> Duration {
        self.delay.saturating_sub(self.set_at.elapsed())
    }

    fn is_due(self) -> bool {
        self.remaining().is_zero()
    }
}

/// One decided input: its effects, and the reply channel of its submitter.
struct DecidedInput {
    effects: Vec<KernelEffect>,
    /// The command of another process that the input executes.
    command: Option<i64>,
    reply: Option<ReplySender>,
    verdict: Result<(), InputRejection>,
}

impl DecidedInput {
    /// The outcome to store in the session's file, for the process that sent the command.
    fn command_outcome(&self) -> CommandOutcome {
        match &self.verdict {
            Ok(()) => CommandOutcome::Applied { mail: Receipt::from_effects(&self.effects).mail },
            Err(rejected) => CommandOutcome::Refused { kind: rejected.kind(), message: rejected.to_string() },
        }
    }
}

struct PendingCommit {
    inputs: Vec<DecidedInput>,
    done: tools::BoxFuture<'static, Result<CommitReceipt, StoreError>>,
}

/// Why the loop wakes up.
enum WakeReason {
    Message(Option<SupervisorMessage>),
    Committed(Result<CommitReceipt, StoreError>),
    RunEnded(Result<(Id, ()), JoinError>),
    Alarm,
}

impl Actor {
    pub(super) fn new(
        parts: SupervisorParts,
        executors: Executors,
        supervisor: Supervisor,
        signals: SupervisorSignals,
    ) -> Actor {
        let SupervisorParts { session, kernel, last_seq, writer, clock, bus, redactor, grants, roster } = parts;
        Actor {
            session,
            clock,
            bus,
            redactor,
            grants,
            roster,
            executors,
            supervisor,
            signals,
            writer: Arc::new(writer),
            draft: kernel.clone(),
            durable: kernel,
            last_seq,
            decided: Vec::new(),
            committing: None,
            paused: None,
            handles: BTreeMap::new(),
            reader_waits: ReaderWaits::default(),
            runs: JoinSet::new(),
            cancellations: JoinSet::new(),
            run_of: HashMap::new(),
            alarm_time: None,
            fleet_activity: FleetActivity::Over,
        }
    }

    pub(super) async fn run(mut self, mut messages: mpsc::Receiver<SupervisorMessage>) -> Option<SessionWriter> {
        let mut ending = false;
        while !ending || self.committing.is_some() {
            match self.next_wake(&mut messages).await {
                WakeReason::Message(Some(message)) => {
                    ending |= self.handle_message(message);
                    for _ in 1..MAX_BATCH_INPUTS {
                        let Ok(message) = messages.try_recv() else { break };
                        ending |= self.handle_message(message);
                    }
                }
                WakeReason::Message(None) => ending = true,
                WakeReason::Committed(result) => self.finish_commit(result),
                WakeReason::RunEnded(ended) => self.handle_run_end(ended),
                WakeReason::Alarm => self.decide(SubmittedInput::internal(KernelInput::Tick)),
            }
            self.commit();
        }
        self.runs.shutdown().await;
        // Each of them gives up after a few seconds.
        while self.cancellations.join_next().await.is_some() {}
        drop((self.executors, self.supervisor));
        Arc::into_inner(self.writer)
    }

    async fn next_wake(&mut self, messages: &mut mpsc::Receiver<SupervisorMessage>) -> WakeReason {
        let alarm = self.sleep_until_alarm();
        let committing = self.committing.as_mut();
        tokio::select! {
            biased;
            result = commit_done(committing) => WakeReason::Committed(result),
            message = messages.recv() => WakeReason::Message(message),
            Some(ended) = self.runs.join_next_with_id() => WakeReason::RunEnded(ended),
            () = alarm => WakeReason::Alarm,
        }
    }

    /// Sleeps until the kernel's alarm is due, checking the clock often enough to notice that it jumped ahead.
    fn sleep_until_alarm(&mut self) -> impl Future<Output = ()> + use<> {
        let at = self.draft.next_alarm().filter(|_| self.paused.is_none());
        if self.alarm_time.map(|alarm| alarm.due_at) != at {
            self.alarm_time = at.map(|at| AlarmTime::new(at, self.clock.now()));
        }
        let (alarm, clock) = (self.alarm_time, Arc::clone(&self.clock));
        async move {
            let Some(alarm) = alarm else { return std::future::pending().await };
            loop {
                let remaining = alarm.due_at.since(clock.now()).min(alarm.remaining());
                if remaining.is_zero() {
                    return;
                }
                tokio::time::sleep(remaining.min(CLOCK_CHECK_INTERVAL)).await;
            }
        }
    }

    /// Handles a message; returns whether the loop must end.
    fn handle_message(&mut self, message: SupervisorMessage) -> bool {
        match message {
            SupervisorMessage::Input(submitted) => self.decide(*submitted),
            SupervisorMessage::Query(query) => query(&self.durable),
            SupervisorMessage::Wait(wait) => match &self.paused {
                Some(reason) => wait.reject(InputRejection::Paused(Arc::clone(reason))),
                None => self.reader_waits.open(wait, &self.durable),
            },
            SupervisorMessage::FleetActivity(activity) => {
                self.fleet_activity = activity;
                self.publish_status();
            }
            SupervisorMessage::Refuse { command, rejected, reply } => match &self.paused {
                Some(reason) => send_reply(Some(reply), Err(InputRejection::Paused(Arc::clone(reason)))),
                None => self.reject(rejected, Some(command), Some(reply)),
            },
            SupervisorMessage::Shutdown => return true,
        }
        false
    }

    fn decide(&mut self, submitted: SubmittedInput) {
        let SubmittedInput { mut input, command, reply } = submitted;
        self.redactor.redact_input(&mut input);
        if let Some(reason) = &self.paused {
            return send_reply(reply, Err(InputRejection::Paused(Arc::clone(reason))));
        }
        if let Err(error) = grants::check_granted_rules(&input) {
            return self.reject(InputRejection::Rule(error), command, reply);
        }
        if may_end_requests(&input) {
            self.record_streamed();
        }
        match self.draft.decide(self.now(), input) {
            Ok(mut effects) => {
                effects.iter_mut().for_each(|effect| self.fill_latest_text(effect));
                self.decided.push(DecidedInput { effects, command, reply, verdict: Ok(()) });
            }
            Err(kernel::InputRefusal::InvalidEvent(defect)) => {
                tracing::error!(%defect, "the kernel decided an invalid event");
                self.rebuild_draft();
                send_reply(reply, Err(kernel::InputRefusal::InvalidEvent(defect).into()));
            }
            Err(refusal) => self.reject(refusal.into(), command, reply),
        }
    }

    /// Updates the draft with how much of each answer has arrived, so that an aborted request costs no more than that.
    fn record_streamed(&mut self) {
        let now = self.now();
        for handle in self.handles.values() {
            let (run, output) = (handle.run, handle.streamed());
            // The kernel refuses this for a run without a request.
            let _refused = self.draft.decide(now, KernelInput::Streamed { run, output });
        }
    }

    /// The current time. It is never before an alarm that is due, even if the clock was set back.
    fn now(&self) -> Timestamp {
        self.alarm_time.filter(|alarm| alarm.is_due()).map_or(Timestamp(0), |alarm| alarm.due_at).max(self.clock.now())
    }

    /// If the kernel ended a run, fills in the run's latest text, which the kernel does not know.
    fn fill_latest_text(&self, effect: &mut KernelEffect) {
        let KernelEffect::Record(LogEntry { task, event, .. }) = effect else { return };
        let Event::ActivationEnded { outcome, text, .. } = event else { return };
        let ended_by_kernel = match outcome {
            TaskOutcome::Cancelled { .. } => true,
            TaskOutcome::Failed { kind, .. } => *kind == FailKind::Stalled,
            TaskOutcome::Completed
            | TaskOutcome::TimedOut { .. }
            | TaskOutcome::BudgetExhausted
            | TaskOutcome::Lost => false,
        };
        if ended_by_kernel && text.is_empty() {
            // A task that is parked, or whose owner has changed, has no run.
            *text = self.handles.get(task).map_or_else(|| self.roster.latest_text(*task), RunHandle::latest_text);
            self.redactor.redact_truncated(text);
        }
    }

    /// Rejects an input. The rejection of a command is committed before the reply, so that the command does not stay
    /// pending.
    fn reject(&mut self, rejected: InputRejection, command: Option<i64>, reply: Option<ReplySender>) {
        match command {
            Some(_) => self.decided.push(DecidedInput { effects: Vec::new(), command, reply, verdict: Err(rejected) }),
            None => send_reply(reply, Err(rejected)),
        }
    }

    /// Rebuilds the draft from the committed state and the decided inputs.
    fn rebuild_draft(&mut self) {
        self.draft = self.durable.clone();
        let committing = self.committing.iter().flat_map(|committing| &committing.inputs);
        for entry in committing.chain(&self.decided).flat_map(|input| &input.effects).filter_map(recorded_entry) {
            if let Err(defect) = self.draft.apply_event(entry) {
                tracing::error!(%defect, "a decided event contradicts the state");
            }
        }
    }

    /// Passes the decided inputs to the writer, unless a commit is in progress.
    fn commit(&mut self) {
        if self.committing.is_some() || self.decided.is_empty() {
            return;
        }
        let inputs = std::mem::take(&mut self.decided);
        let entries: Vec<LogEntry> =
            inputs.iter().flat_map(|input| &input.effects).filter_map(recorded_entry).cloned().collect();
        let applied_commands: Vec<_> =
            inputs.iter().filter_map(|input| Some((input.command?, input.command_outcome()))).collect();
        if entries.is_empty() && applied_commands.is_empty() {
            return self.perform_all(inputs);
        }
        let writer = Arc::clone(&self.writer);
        let done = Box::pin(async move { writer.commit(WriteBatch { entries, applied_commands }).await });
        self.committing = Some(PendingCommit { inputs, done });
    }

    fn finish_commit(&mut self, result: Result<CommitReceipt, StoreError>) {
        let Some(PendingCommit { inputs, .. }) = self.committing.take() else { return };
        match result {
            Ok(_receipt) => self.perform_all(inputs),
            Err(error) => self.pause(error, inputs),
        }
    }

    fn perform_all(&mut self, inputs: Vec<DecidedInput>) {
        let mut replies = Vec::with_capacity(inputs.len());
        for input in inputs {
            let receipt = Receipt::from_effects(&input.effects);
            // What a copy of a session stops continues in the original.
            if !input.effects.iter().any(is_fork) {
                input.effects.iter().for_each(|effect| self.follow_cancellation(effect));
            }
            for effect in input.effects {
                self.perform_effect(effect);
            }
            replies.extend(input.reply.map(|reply| (reply, input.verdict.map(|()| receipt))));
        }
        // Update the status before sending replies: a caller that has its reply must find its input in the status.
        self.publish_status();
        for (reply, verdict) in replies {
            send_reply(Some(reply), verdict);
        }
        self.reader_waits.end_reached(&self.durable);
    }

    fn perform_effect(&mut self, effect: KernelEffect) {
        match effect {
            KernelEffect::Record(entry) => self.publish_entry(entry),
            KernelEffect::Start(run) => self.start_run(run),
            KernelEffect::MayProceed(run) => self.send_to_run(run, RunMessage::SlotRegained),
            KernelEffect::WaitOver { run, call, .. } | KernelEffect::AskOver { run, call } => {
                if let Some(handle) = self.handle_of(run) {
                    handle.finish_wait(&call);
                }
            }
            // Earlier events have told the run which work to drop.
            KernelEffect::Stop { run, how } => {
                if let Some(handle) = self.handle_of(run) {
                    handle.stop(how);
                }
            }
        }
    }

    fn publish_entry(&mut self, entry: LogEntry) {
        self.last_seq += 1;
        if let Err(defect) = self.durable.apply_event(&entry) {
            tracing::error!(%defect, seq = self.last_seq, "a durable event contradicts the state");
        }
        self.draft.share_task(entry.task, &self.durable);
        self.grants.apply_event(&entry.event);
        self.roster.apply_event(&entry);
        if matches!(entry.event, Event::TurnAnswered { .. } | Event::TurnFailed { .. }) {
            self.signals.settled_requests.send_modify(|settled| *settled += 1);
        }
        let envelope = Arc::new(Envelope { v: Envelope::VERSION, seq: self.last_seq, session: self.session, entry });
        if let Some(handle) = self.handles.get(&envelope.entry.task) {
            handle.send_event(Arc::clone(&envelope));
        }
        self.bus.publish(BusMessage::Event(envelope));
    }

    /// Does what remains to be done for a task that was cancelled, unless its server did that itself.
    fn follow_cancellation(&mut self, effect: &KernelEffect) {
        while self.cancellations.try_join_next().is_some() {}
        let KernelEffect::Record(LogEntry { task, event: Event::TaskFinished { outcome }, .. }) = effect else {
            return;
        };
        match outcome {
            TaskOutcome::Cancelled { by: CancelBy::Server } => {}
            TaskOutcome::Cancelled {
                by: CancelBy::User | CancelBy::Agent | CancelBy::Parent | CancelBy::SessionEnd,
            } => {
                let kind = self.durable.task(*task).map(|task| task.kind);
                if let Some(work) = kind.and_then(|kind| self.executors.cancelled(kind, *task)) {
                    self.cancellations.spawn(work);
                }
            }
            TaskOutcome::Completed
            | TaskOutcome::Failed { .. }
            | TaskOutcome::TimedOut { .. }
            | TaskOutcome::BudgetExhausted
            | TaskOutcome::Lost => {}
        }
    }

    fn start_run(&mut self, run: RunId) {
        let Some(kind) = self.durable.task(run.task).map(|task| task.kind) else { return };
        let place = self.roster.with_task(run.task, |entry| entry.spec.place.clone()).flatten();
        let (handle, link) = RunHandle::new(run, self.supervisor.clone());
        if let Some(old) = self.handles.insert(run.task, handle) {
            old.stop(protocol::CancelMode::Abort);
        }
        let handle = self.runs.spawn(self.executors.run(kind, place.as_ref(), link));
        self.run_of.insert(handle.id(), run);
    }

    fn send_to_run(&self, run: RunId, message: RunMessage) {
        if let Some(handle) = self.handle_of(run) {
            handle.send(message);
        }
    }

    /// The handle of a run, unless another run of its task has replaced it.
    fn handle_of(&self, run: RunId) -> Option<&RunHandle> {
        self.handles.get(&run.task).filter(|handle| handle.run == run)
    }

    /// Handles the end of a run. If it did not end its task, the task fails: no task may stay `running` without a run.
    fn handle_run_end(&mut self, ended: Result<(Id, ()), JoinError>) {
        let (id, panic_message) = match ended {
            Ok((id, ())) => (id, None),
            Err(error) => (error.id(), error.is_panic().then(|| error.to_string())),
        };
        let Some(run) = self.run_of.remove(&id) else { return };
        if self.handles.get(&run.task).is_some_and(|handle| handle.run == run) {
            self.handles.remove(&run.task);
        }
        let is_current = self.draft.task(run.task).is_some_and(|task| task.is_running() && task.run_id() == run);
        if is_current {
            let message = panic_message.unwrap_or_else(|| "the run ended without a result".into());
            tracing::error!(%run, message, "a run ended early");
            let ending = RunEnding::Failed { kind: FailKind::Internal, message };
            // Deliver unread mail first: otherwise it would wake the task again, which would end in the same way.
            self.decide(SubmittedInput::internal(KernelInput::Report(
                run,
                RunUpdate::Boundary(BoundaryPoint::BetweenTurns),
            )));
            self.decide(SubmittedInput::internal(KernelInput::Report(
                run,
                RunUpdate::Ended { ending, text: String::new() },
            )));
        }
    }

    /// Pauses the session after a failed commit: drops the decided inputs and stops all runs.
    fn pause(&mut self, error: StoreError, inputs: Vec<DecidedInput>) {
        tracing::error!(%error, "a commit failed; the session is paused");
        let reason = Arc::new(error);
        self.paused = Some(Arc::clone(&reason));
        self.draft = self.durable.clone();
        // Update the status before sending replies: a caller that gives up must find the reason in the status.
        self.publish_status();
        for input in inputs.into_iter().chain(std::mem::take(&mut self.decided)) {
            send_reply(input.reply, Err(InputRejection::Paused(Arc::clone(&reason))));
        }
        self.reader_waits.reject_all(&InputRejection::Paused(reason));
        self.handles.clear();
        self.runs.abort_all();
    }

    fn publish_status(&self) {
        let root = self.durable.root().and_then(|id| self.durable.task(id));
        let (drives_fleet, fleet_failure) = match &self.fleet_activity {
            FleetActivity::Driven => (true, None),
            FleetActivity::Over => (false, None),
            FleetActivity::Broken(reason) => (false, Some(Arc::clone(reason))),
        };
        let status = SessionStatus {
            seq: self.last_seq,
            quiet: self.durable.is_quiet() && !drives_fleet,
            root: root.map(|task| task.phase.state()),
            background: self.durable.busy_tasks() - usize::from(root.is_some_and(|task| task.phase.is_busy())),
            asks: self.durable.open_asks(),
            continuation_due: self.durable.is_continuation_due(),
            fleet: drives_fleet,
            fleet_failure,
            parked: self.durable.parked(),
            paused: self.paused.clone(),
        };
        self.signals.status.send_if_modified(|published| {
            let changed = status.must_notify_after(published);
            *published = status;
            changed
        });
    }
}

impl SubmittedInput {
    /// An input of the supervisor itself.
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

fn is_fork(effect: &KernelEffect) -> bool {
    matches!(effect, KernelEffect::Record(LogEntry { event: Event::SessionForked { .. }, .. }))
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

/// Waits for the commit in progress; forever if there is none.
async fn commit_done(committing: Option<&mut PendingCommit>) -> Result<CommitReceipt, StoreError> {
    match committing {
        Some(committing) => committing.done.as_mut().await,
        None => std::future::pending().await,
    }
}

/// Sends the reply, if the caller still waits for it.
fn send_reply(reply: Option<ReplySender>, result: Result<Receipt, InputRejection>) {
    if let Some(reply) = reply {
        let _gone = reply.send(result);
    }
}
