//! The tools a model can call, and what each of them may touch.
//!
//! A tool is two files of `builtin`: `grep.rs` (arguments, run, output) and `grep.md` (the description for the model).
//! Its input is any text a model wrote; its output is bounded by type. A call ends in an output, in a refusal the model
//! can act on, or in a failure of the tool itself; it never panics, never blocks the runtime's threads and leaves no
//! process behind. The traits in `services` are what tools need from the runtime (SQL tables, background commands).

#![deny(missing_docs)]

mod args;
mod builtin;
mod context;
mod environment;
mod file_changes;
mod heartbeat;
mod launch;
mod long_calls;
mod mcp_control;
mod mcp_resources;
mod mcp_tokens;
mod patch;
mod refusal;
mod services;
mod session_control;
mod shared_list;
mod stamps;
mod subagents;
mod text;
mod tool;
mod toolbox;
mod walk;
mod web_page;
mod workspace_files;

pub use builtin::builtin_tools;
pub use context::{CallIdentity, ToolContext, ToolLimits};
pub use file_changes::{FileChange, FileChangeRecorder, FileState, RestoreError, read_state, restore_file};
pub use heartbeat::{Heartbeat, HeartbeatPause};
pub use launch::{ShellCommand, follow, launch};
pub use long_calls::{
    CallEnd, CallInProgress, FirstPoll, FollowedCall, LongCallStart, LongCalls, MovedCall, RemoteOutcome,
    RemoteTaskContext, RemoteTaskEnd, RemoteTaskObserver, RemoteTaskRef, RemoteTasks, ReplaceablePrompter,
};
pub use mcp_control::{McpControlError, McpServerControl, SecretSink};
pub use mcp_resources::{judged_name, mcp_resource_tools};
pub use mcp_tokens::{McpSuppliedToken, McpTokenReason, McpTokenRequest, McpTokenSource};
pub use services::{
    BackgroundCommand, BackgroundCommands, BackgroundRow, BackgroundStatus, CatalogListing, CreateItemRequest,
    FileAccess, FileAccessGuard, IntentReporter, ItemEdit, McpResources, MessageAgentsRequest, MessageRecipients,
    ModelAsker, ModelQuestion, ModelReply, OutsidePrompt, OutsidePromptUsage, PlanExitRequest, ReadAgentRequest,
    RequestMeta, RequestMetaSource, SessionControl, SessionServices, SharedListAccess, SqlExecutor, StartAgentRequest,
    Subagents, ToolCatalog, UserPrompter, UserQuestion, WaitLimit, WaitRequest, WaitUntilRequest,
};
pub use session_control::{autopilot_tools, plan_mode_tools};
pub use shared_list::shared_list_tools;
pub use stamps::FileStamps;
pub use subagents::subagent_tools;
pub use tool::{BoxFuture, RequiredPermission, Tool, ToolAccess, ToolDescriptor, ToolError, ToolOutput, ToolPlace};
pub use toolbox::{ask_user, skill, task, tool_search};
pub use walk::{WorkspaceEntry, WorkspaceEntryKind, for_each_file, list_workspace};
