//! The services and limits of a tool call. One context belongs to one agent; its parts are shared with the agent's
//! session.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use host::{Guardian, Workspace};
use net::fetch::{AddressGate, PageFetcher};
use protocol::{CallId, TaskId};
use tokio_util::sync::CancellationToken;

use crate::{FileAccessGuard, FileChangeRecorder, FileStamps, Heartbeat, SessionServices, ToolError};

/// The services and limits of a tool call.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The call's identity.
    pub identity: CallIdentity,
    /// The files it can reach.
    pub workspace: Arc<Workspace>,
    /// Checks which of them this call may open.
    pub access_guard: Arc<dyn FileAccessGuard>,
    /// The states in which this agent has seen them.
    pub stamps: Arc<FileStamps>,
    /// Records what it changes in files, if that can be taken back.
    pub file_changes: Option<Arc<dyn FileChangeRecorder>>,
    /// Starts programs and cleans up their processes.
    pub guardian: Guardian,
    /// The complete environment of started programs.
    pub env: Arc<Vec<(OsString, OsString)>>,
    /// Cancels the call.
    pub cancel: CancellationToken,
    /// Signals that the call is making progress.
    pub heartbeat: Heartbeat,
    /// Limits on its input and output.
    pub limits: ToolLimits,
    /// What it may ask of the session, if it runs there.
    pub session: Option<SessionServices>,
    /// Fetches web pages.
    pub fetcher: PageFetcher,
    /// Decides which addresses they may come from.
    pub address_gate: Arc<dyn AddressGate>,
}

impl ToolContext {
    /// What the call may ask of the session.
    pub(crate) fn session(&self) -> Result<&SessionServices, ToolError> {
        self.session.as_ref().ok_or_else(|| ToolError::failed("this call needs the session, but does not run there"))
    }
}

/// Identifies one call of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallIdentity {
    /// The calling task.
    pub task: TaskId,
    /// The call.
    pub call: CallId,
}

/// Limits of tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolLimits {
    /// Maximum bytes of text that one call returns.
    pub output_bytes: usize,
    /// Maximum bytes of JSON that one call accepts.
    pub input_bytes: usize,
    /// Maximum bytes shown of one line.
    pub line_bytes: usize,
    /// Maximum lines that `view` shows.
    pub view_lines: usize,
    /// Maximum bytes that `view` skips to reach the requested line.
    pub scan_bytes: u64,
    /// Maximum size of a file that is edited or created.
    pub file_bytes: u64,
    /// Default maximum of rows that `grep`, `glob` and a folder listing return.
    pub rows: usize,
    /// Maximum duration of a search.
    pub search_time: Duration,
    /// Default time limit of a command.
    pub shell_timeout: Duration,
    /// Maximum time limit of a command in the foreground.
    pub max_shell_timeout: Duration,
    /// Maximum bytes of memory for each process of a command; no limit when absent.
    pub command_memory_bytes: Option<u64>,
}

impl Default for ToolLimits {
    fn default() -> ToolLimits {
        ToolLimits {
            output_bytes: 32 * 1024,
            input_bytes: 8 * 1024 * 1024,
            line_bytes: 2000,
            view_lines: 2000,
            scan_bytes: 256 * 1024 * 1024,
            file_bytes: 16 * 1024 * 1024,
            rows: 200,
            search_time: Duration::from_secs(30),
            shell_timeout: Duration::from_secs(120),
            max_shell_timeout: Duration::from_secs(600),
            command_memory_bytes: None,
        }
    }
}
