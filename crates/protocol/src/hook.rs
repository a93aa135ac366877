//! Hooks: programs and URLs that are notified of events, and can deny them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An event that a hook is called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookEvent {
    /// A session starts or is resumed.
    SessionStart,
    /// A session's run ends.
    SessionEnd,
    /// The user gave the root a prompt.
    UserPromptSubmitted,
    /// The user's prompt is about to be stored as the root's model will read it.
    UserPromptTransformed,
    /// A tool call is about to be checked for permission.
    PreToolUse,
    /// A call of an MCP server's tool is about to be sent to the server.
    PreMcpToolCall,
    /// A tool call was answered.
    PostToolUse,
    /// A tool call failed.
    PostToolUseFailure,
    /// A tool call needs permission.
    PermissionRequest,
    /// A tool call was denied.
    PermissionDenied,
    /// An agent's activation is about to begin.
    SubagentStart,
    /// An agent's activation is about to end.
    SubagentStop,
    /// The root's activation is about to end.
    AgentStop,
    /// A conversation is about to be shortened.
    PreCompact,
    /// The user is notified.
    Notification,
    /// A model or a tool failed.
    ErrorOccurred,
    /// An item of a shared list is about to be created.
    TaskCreated,
    /// An item of a shared list is about to be completed.
    TaskCompleted,
    /// A teammate has nothing to do.
    TeammateIdle,
}

/// One hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookSpec {
    /// The event it is called for.
    pub event: HookEvent,
    /// A pattern for the tool's or agent's name; all events when absent.
    #[serde(default)]
    pub matcher: Option<String>,
    /// What it runs.
    pub action: HookAction,
    /// How long it may take, including its start, in milliseconds.
    pub timeout_ms: u64,
    /// What its failure means.
    #[serde(default)]
    pub failure: HookFailure,
    /// Its JSON field names.
    #[serde(default)]
    pub dialect: HookDialect,
    /// Where it is defined: a file, with the position in it.
    pub source: String,
    /// The project files it runs, as they were when the project was trusted. The hook does not run if their content has
    /// changed. They are collected again in every run, so they are not stored.
    #[serde(skip)]
    pub programs: Vec<HookProgram>,
}

/// A file that a hook runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookProgram {
    /// The file, relative to the folder that the hook runs in.
    pub path: String,
    /// The digest of its content.
    pub digest: String,
}

/// What a hook runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum HookAction {
    /// A shell command: JSON on its standard input, JSON on its standard output.
    Command {
        /// The command.
        command: String,
        /// The folder it runs in, relative to the project's root; the session's folder when absent.
        #[serde(default)]
        cwd: Option<String>,
        /// Additional environment variables.
        #[serde(default)]
        env: BTreeMap<String, String>,
    },
    /// A URL that JSON is posted to.
    Http {
        /// The URL.
        url: String,
        /// Headers; `$NAME` stands for a variable that `allowed_env` names.
        #[serde(default)]
        headers: BTreeMap<String, String>,
        /// Environment variables that headers may use.
        #[serde(default)]
        allowed_env: Vec<String>,
    },
    /// A function of the client program that drives the session. No file can define one.
    Client {
        /// The client's id for it.
        id: String,
    },
}

/// What happens when a hook fails: it cannot start, times out, exits with a code other than 0 or 2, or prints no JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookFailure {
    /// Work continues.
    #[default]
    Open,
    /// The action that the hook guards is denied.
    Closed,
}

/// The two sets of JSON field names that hooks use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookDialect {
    /// `sessionId`, `toolName`, `modifiedArgs`.
    #[default]
    Camel,
    /// `session_id`, `tool_name`, `updatedInput` in `hookSpecificOutput`.
    Snake,
}
