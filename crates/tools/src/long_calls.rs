//! Calls of programs outside that may take long: tasks that such a program does itself, and calls that move to the
//! background.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use host::{Clock, Guardian};
use protocol::{McpProgress, McpRemoteTask, McpTaskReport, McpTaskSpec};
use tokio::sync::watch;

use crate::{BoxFuture, ToolError, UserPrompter, UserQuestion};

/// How one call of a tool continues as a task of the session. The returned strings are the answers for the model.
pub trait LongCalls: Send + Sync + fmt::Debug {
    /// The answer of a call that an earlier process began, if this is one: such a call is never repeated. Waits for
    /// the task that the call waited for.
    fn resume(&self) -> BoxFuture<'_, Option<Result<String, ToolError>>>;

    /// How long a call may take before it moves to the background; for ever when absent.
    fn background_after(&self) -> Option<Duration>;

    /// Shows users how far the call is. `tool` is its tool, with the server.
    fn report_progress(&self, tool: String, progress: McpProgress) -> BoxFuture<'_, ()>;

    /// Records a task that the program has created, and waits for it.
    fn follow(&self, start: LongCallStart) -> BoxFuture<'_, FollowedCall>;

    /// Moves a call to the background. Returns the call if that is not possible now.
    fn move_to_background(&self, start: LongCallStart, call: CallInProgress) -> BoxFuture<'_, MovedCall>;
}

/// What is recorded of a call that becomes a task of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongCallStart {
    /// The name of the tool's server.
    pub server: String,
    /// A digest of the server's definition, if the session has one.
    pub definition: Option<String>,
    /// The tool, by the server's name.
    pub tool: String,
    /// The arguments, in JSON.
    pub arguments: String,
    /// The server's own task; none for a call whose answer is the only thing to wait for.
    pub remote: Option<McpRemoteTask>,
    /// How long it has taken so far.
    pub elapsed: Duration,
    /// How long it may take from now on.
    pub time_limit: Duration,
}

/// A call that has no answer yet.
pub struct CallInProgress {
    /// Ends with the call. Dropping it cancels the call.
    pub end: BoxFuture<'static, CallEnd>,
    /// Who is asked the server's questions meanwhile.
    pub prompter: Arc<ReplaceablePrompter>,
    /// The progress that the server reports.
    pub progress: watch::Receiver<Option<McpProgress>>,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEnd {
    /// With an answer.
    Answered(RemoteTaskEnd),
    /// With a task that the program does.
    Task {
        /// The task.
        remote: McpRemoteTask,
        /// How long it may take.
        time_limit: Duration,
    },
}

/// The result of [`LongCalls::follow`].
#[derive(Debug)]
pub enum FollowedCall {
    /// The wait for the task is over; this is the answer for the model.
    Answered(Result<String, ToolError>),
    /// The task is not recorded, and nothing waits for it.
    NotRecorded(ToolError),
}

/// The result of [`LongCalls::move_to_background`].
#[derive(Debug)]
pub enum MovedCall {
    /// It has moved, or the session has ended; this is the answer for the model.
    Answered(Result<String, ToolError>),
    /// It waits for the user, and may move later.
    NotNow(CallInProgress),
}

/// Tasks that programs outside do themselves, such as those of MCP servers.
pub trait RemoteTasks: Send + Sync + fmt::Debug {
    /// Follows a task to its end, which may take hours. Dropping the future leaves the task as it is.
    fn follow<'a>(&'a self, task: RemoteTaskRef<'a>, cx: &'a RemoteTaskContext) -> BoxFuture<'a, RemoteTaskEnd>;

    /// Asks the program to stop a task; gives up after a few seconds.
    fn cancel<'a>(&'a self, task: RemoteTaskRef<'a>, guardian: &'a Guardian) -> BoxFuture<'a, ()>;
}

/// A task that a program does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteTaskRef<'a> {
    /// Its tool and its server.
    pub spec: &'a McpTaskSpec,
    /// The program's own task.
    pub remote: &'a McpRemoteTask,
}

/// What following a task needs from the session.
#[derive(Debug, Clone)]
pub struct RemoteTaskContext {
    /// Starts programs.
    pub guardian: Guardian,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Records what is known of the task.
    pub observer: Arc<dyn RemoteTaskObserver>,
    /// Asks the user.
    pub prompter: Arc<dyn UserPrompter>,
    /// When the program is asked for the first time.
    pub first_poll: FirstPoll,
}

/// When a program is asked for a task for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstPoll {
    /// At once: an earlier process followed the task.
    AtOnce,
    /// After its poll interval: it has just created the task.
    AfterInterval,
}

/// Records what is known of a task that a program does.
pub trait RemoteTaskObserver: Send + Sync + fmt::Debug {
    /// Records a report.
    fn report(&self, report: McpTaskReport) -> BoxFuture<'_, ()>;

    /// The program has the answers to everything that the user was asked.
    fn answers_sent(&self) -> BoxFuture<'_, ()>;
}

/// How a task or a call of a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteTaskEnd {
    /// The outcome.
    pub outcome: RemoteOutcome,
    /// The result, or what the model is told instead.
    pub text: String,
}

/// The outcome of a task or a call of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteOutcome {
    /// It has a result.
    Completed,
    /// It failed.
    Failed,
    /// The program cancelled it.
    Cancelled,
    /// How it ended is unknown.
    Lost,
}

/// Asks the user on behalf of a call, and of its task once the call has moved to the background.
#[derive(Debug)]
pub struct ReplaceablePrompter(Mutex<Arc<dyn UserPrompter>>);

impl ReplaceablePrompter {
    /// Asks through this prompter at first.
    pub fn new(prompter: Arc<dyn UserPrompter>) -> ReplaceablePrompter {
        ReplaceablePrompter(Mutex::new(prompter))
    }

    /// Asks through this prompter from now on.
    pub fn replace(&self, prompter: Arc<dyn UserPrompter>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = prompter;
    }
}

impl UserPrompter for ReplaceablePrompter {
    fn ask(&self, question: UserQuestion) -> BoxFuture<'_, Result<Option<String>, ToolError>> {
        let prompter = Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner));
        Box::pin(async move { prompter.ask(question).await })
    }
}

impl fmt::Debug for CallInProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallInProgress").finish_non_exhaustive()
    }
}
