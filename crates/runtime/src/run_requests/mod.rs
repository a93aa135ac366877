//! What a run asks of its session. A run holds no session state: it folds the events that it hears, and everything else
//! is one of these requests, whose parameters and replies are plain values. [`LocalSession`] is the one place that
//! answers them; for a run in another process, `remote_run` brings them there.

mod digest;
mod held;
mod holds;
mod local;
mod profile;
mod session_calls;
mod start_hooks;

use std::collections::BTreeSet;
use std::fmt;

use hooks::{HookEventData, HookVerdict};
use kernel::{CallPhase, DecidedAsk, KernelInput, NewMail, RunUpdate};
use protocol::{
    Ask, CallId, Envelope, HookEvent, MailBody, MailDelivery, Principal, Refusal, RunId, TaskId, ToolCallRequest, Turn,
};
use tokio::sync::watch;
use tools::{BoxFuture, ToolError, ToolOutput};

use crate::conversation::ResultFormatter;
use crate::governor::DayBudgetError;
use crate::supervisor::InputRejection;

pub(crate) use holds::{AdmissionReply, AdmissionRequest, DayShare, HoldId, HoldUpdate, RequestPermit};
pub(crate) use local::LocalSession;
pub(crate) use profile::{CheckoutOwner, TaskProfile};

/// The requests of one run.
pub(crate) trait SessionRequests: ResultFormatter + fmt::Debug + Send + Sync {
    /// Submits inputs that are decided in order and committed together; each has its own result.
    fn submit(&self, inputs: Vec<RunInput>) -> BoxFuture<'_, Vec<Result<(), InputRejection>>>;

    /// The task as its session knows it now.
    fn profile(&self) -> BoxFuture<'_, Result<TaskProfile, Refusal>>;

    /// How far the task's activation has come.
    fn progress(&self) -> BoxFuture<'_, Result<TaskProgress, InputRejection>>;

    /// The committed events of the task after `seq`.
    fn events_after(&self, seq: u64) -> BoxFuture<'_, Result<Vec<Envelope>, Refusal>>;

    /// How far a call has come.
    fn call_progress(&self, call: CallId) -> BoxFuture<'_, Result<CallProgress, InputRejection>>;

    /// Opens an ask, or resumes the one that the call already has open.
    fn open_ask(&self, request: AskRequest) -> BoxFuture<'_, Result<(), InputRejection>>;

    /// Waits for the decision on the ask that [`SessionRequests::open_ask`] opened for this call.
    fn ask_decision(&self, call: CallId) -> BoxFuture<'_, Result<DecidedAsk, InputRejection>>;

    /// Whether a model's provider has answered a request in this session.
    fn has_provider_answered(&self, model: String) -> BoxFuture<'_, Result<bool, InputRejection>>;

    /// Whether the user wants the conversation compacted; clears the request.
    fn take_compaction_request(&self) -> BoxFuture<'_, bool>;

    /// The lines of a digest that only the session knows; `unread` are the tasks whose results are unread.
    fn digest_lines(&self, unread: BTreeSet<TaskId>) -> BoxFuture<'_, Result<DigestLines, InputRejection>>;

    /// Whether a hook may apply to this event of the task.
    fn has_hook(&self, event: HookEvent) -> BoxFuture<'_, bool>;

    /// Runs the hooks that match an event of the task.
    fn run_hooks(&self, event: HookEventData) -> BoxFuture<'_, HookVerdict>;

    /// Runs the hooks on the start of the activation; returns nothing if the task has no hooks on start or end.
    fn run_start_hooks(&self) -> BoxFuture<'_, Option<HookVerdict>>;

    /// Tells the hooks of the parent that the call that started the task was denied.
    fn report_denied_start(&self, reason: String) -> BoxFuture<'_, ()>;

    /// The files that calls of the task and of those below it changed.
    fn changed_paths(&self) -> BoxFuture<'_, Vec<String>>;

    /// Admits the command of an expectation; returns it as hooks changed it, or why it may not run.
    fn admit_check(&self, command: String) -> BoxFuture<'_, Result<String, Refusal>>;

    /// Waits until the governor admits a request.
    fn admit_request(&self, request: AdmissionRequest) -> BoxFuture<'_, AdmissionReply>;

    /// Reserves an amount, in millionths of a dollar, from the daily budget.
    fn reserve_day(&self, micros: u64) -> BoxFuture<'_, Result<HoldId, DayBudgetError>>;

    /// Raises a reservation from the daily budget; returns whether the limit allows it.
    fn raise_day(&self, hold: HoldId, micros: u64) -> BoxFuture<'_, bool>;

    /// Reports on what the run holds.
    fn update_hold(&self, hold: HoldId, update: HoldUpdate);

    /// Signals every model request of the session that is settled from now on.
    fn settled(&self) -> watch::Receiver<u64>;

    /// Commits the work in the task's own checkout; returns nothing if it has none.
    fn seal_work(&self) -> BoxFuture<'_, Result<Option<WorkSeal>, WorkSealError>>;

    /// Sets the text that the task had before this run.
    fn set_initial_text(&self, text: &str);

    /// Resets the part of an answer that has arrived: the next turn begins.
    fn reset_answer(&self);

    /// Reports that more of the answer to a turn has arrived, and shows its text to clients.
    fn answer_arrived(&self, turn: Turn, text: Option<&str>, tokens: u32);

    /// Runs a call whose tool runs where the session is.
    fn run_tool(&self, turn: Turn, call: ToolCallRequest) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;
}

impl dyn SessionRequests + '_ {
    /// Submits a report.
    pub(crate) async fn report(&self, update: RunUpdate) -> Result<(), InputRejection> {
        self.submit_all([RunInput::Update(update)]).await
    }

    /// Submits inputs; fails with the first rejection.
    pub(crate) async fn submit_all<const N: usize>(&self, inputs: [RunInput; N]) -> Result<(), InputRejection> {
        self.submit(inputs.into()).await.into_iter().collect()
    }

    /// Submits two reports, decided in order and committed together.
    pub(crate) async fn report_both(&self, first: RunUpdate, second: RunUpdate) -> [Result<(), InputRejection>; 2] {
        let results = self.submit(vec![RunInput::Update(first), RunInput::Update(second)]).await;
        let mut results = results.into_iter();
        [(); 2].map(|()| results.next().unwrap_or(Err(InputRejection::SessionEnded)))
    }
}

/// An input that a run submits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunInput {
    /// A report.
    Update(RunUpdate),
    /// The stop hooks of the activation ran.
    StopHooksRan,
    /// A message of the runtime to the run's own task.
    Note(String),
    /// The user wants the turn to end.
    Interrupt,
}

impl RunInput {
    /// The input for the kernel.
    pub(crate) fn into_kernel(self, run: RunId) -> KernelInput {
        match self {
            RunInput::Update(update) => KernelInput::Report(run, update),
            RunInput::StopHooksRan => KernelInput::StopHooksRan { task: run.task, activation: run.activation },
            RunInput::Interrupt => KernelInput::Interrupt(run.task),
            RunInput::Note(text) => {
                let (from, delivery) = (Principal::Runtime, MailDelivery::Steer);
                KernelInput::Send(NewMail { to: run.task, from, delivery, body: MailBody::text(text) })
            }
        }
    }
}

/// How far a task's activation has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TaskProgress {
    /// The turns of the activation.
    pub(crate) turns: u32,
    /// How often hooks or expectations have blocked its end.
    pub(crate) stop_blocks: u32,
    pub(crate) has_busy_children: bool,
}

/// The part of a digest that only the session knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DigestLines {
    pub(crate) tasks: Vec<String>,
    pub(crate) todos: Vec<String>,
}

/// How far a call has come, possibly in a process that died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallProgress {
    /// The user was not asked.
    NotAsked,
    /// The user was asked for permission, and their decision counts.
    Asked,
    /// The call had started and continues to wait.
    Waiting,
    /// It is answered, or its turn is over.
    Over,
}

impl CallProgress {
    /// The progress of a call in this phase.
    fn of(phase: Option<&CallPhase>) -> CallProgress {
        match phase {
            Some(CallPhase::Pending | CallPhase::Started) => CallProgress::NotAsked,
            Some(CallPhase::Asking(ask)) if !ask.subject.has_call_started() => CallProgress::Asked,
            Some(CallPhase::Decided(DecidedAsk { call_started: false, .. })) => CallProgress::Asked,
            Some(CallPhase::Asking(_))
            | Some(CallPhase::Decided(DecidedAsk { call_started: true, .. }))
            | Some(CallPhase::Waiting(_) | CallPhase::Waited { .. }) => CallProgress::Waiting,
            Some(CallPhase::Answered) | None => CallProgress::Over,
        }
    }
}

/// The commit of the work in a task's checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkSeal {
    pub(crate) commit: String,
    /// The changed files.
    pub(crate) files: Vec<String>,
    /// Whether the commit has all files: those of nested repositories are not in it.
    pub(crate) is_whole: bool,
}

/// Why the work in a checkout is in no commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("its work could not be saved as a commit and remains in {folder}: {reason}")]
pub(crate) struct WorkSealError {
    pub(crate) folder: String,
    pub(crate) reason: String,
}

/// A question of a call to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AskRequest {
    pub(crate) turn: Turn,
    pub(crate) ask: Ask,
}
