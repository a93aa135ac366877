//! Everything a call may use. One context belongs to one agent; its parts are shared with the agent's session.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use host::{Guardian, Workspace};
use net::fetch::{AddressGate, PageFetcher};
use protocol::{CallId, TaskId};
use tokio_util::sync::CancellationToken;

use crate::{
    BackgroundCommands, FileAccessGuard, FileStamps, Heartbeat, IntentReporter, SessionControl, SharedListAccess,
    SqlExecutor, Subagents, UserPrompter,
};

/// What a call may use.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// Which call it is.
    pub identity: CallIdentity,
    /// The files it may reach.
    pub workspace: Arc<Workspace>,
    /// What of them this call may open.
    pub access_guard: Arc<dyn FileAccessGuard>,
    /// What this agent has read of them.
    pub stamps: Arc<FileStamps>,
    /// Starts programs and leaves none behind.
    pub guardian: Guardian,
    /// The complete environment of started programs.
    pub env: Arc<Vec<(OsString, OsString)>>,
    /// Ends the call early.
    pub cancel: CancellationToken,
    /// Where it shows that it is at work.
    pub heartbeat: Heartbeat,
    /// How much it may give and take.
    pub limits: ToolLimits,
    /// The model's SQL tables.
    pub sql: Arc<dyn SqlExecutor>,
    /// Commands that run on while the agent works.
    pub background: Arc<dyn BackgroundCommands>,
    /// The agents that this one starts.
    pub subagents: Arc<dyn Subagents>,
    /// The list that it shares with others.
    pub shared_list: Arc<dyn SharedListAccess>,
    /// Where the agent says what it is doing.
    pub intent: Arc<dyn IntentReporter>,
    /// Where the session's own agent says how its session goes on.
    pub session_control: Arc<dyn SessionControl>,
    /// Asks the user.
    pub user_prompter: Arc<dyn UserPrompter>,
    /// Gets pages of the web.
    pub fetcher: PageFetcher,
    /// Which addresses they may come from.
    pub gate: Arc<dyn AddressGate>,
}

/// Which call of a session it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallIdentity {
    /// The task that calls.
    pub task: TaskId,
    /// The call.
    pub call: CallId,
}

/// The settings of this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolLimits {
    /// Most bytes of text that one call gives.
    pub output: usize,
    /// Most bytes of JSON that one call takes.
    pub input: usize,
    /// Most bytes shown of one line.
    pub line: usize,
    /// Most lines `view` shows unless asked for fewer.
    pub view_lines: usize,
    /// Most bytes `view` passes over on its way to the asked line.
    pub scan: u64,
    /// Most bytes of a file that is edited or created.
    pub file: u64,
    /// Most rows that `grep`, `glob` and a folder listing give unless asked for fewer.
    pub rows: usize,
    /// Longest time a search may take.
    pub search: Duration,
    /// How long a command may run when the model does not say.
    pub shell: Duration,
    /// Longest time a command may run in the foreground.
    pub shell_max: Duration,
    /// Most bytes of memory for each process of a command; no limit when absent.
    pub command_memory: Option<u64>,
}

impl Default for ToolLimits {
    fn default() -> ToolLimits {
        ToolLimits {
            output: 32 * 1024,
            input: 8 * 1024 * 1024,
            line: 2000,
            view_lines: 2000,
            scan: 256 * 1024 * 1024,
            file: 16 * 1024 * 1024,
            rows: 200,
            search: Duration::from_secs(30),
            shell: Duration::from_secs(120),
            shell_max: Duration::from_secs(600),
            command_memory: None,
        }
    }
}
