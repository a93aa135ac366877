//! Hooks: programs and addresses that are told what happens, and may say no.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a hook is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookEvent {
    /// A session begins, anew or again.
    SessionStart,
    /// A session's run ends.
    SessionEnd,
    /// A person gave the root a prompt.
    UserPromptSubmitted,
    /// A tool call is about to be judged.
    PreToolUse,
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
    /// A person is told something.
    Notification,
    /// A model or a tool failed.
    ErrorOccurred,
    /// An item of a list is about to be made.
    TaskCreated,
    /// An item of a list is about to be completed.
    TaskCompleted,
    /// A teammate has nothing to do.
    TeammateIdle,
}

/// One hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookSpec {
    /// What it is told of.
    pub event: HookEvent,
    /// Which of those: a tool's or an agent's name, as a pattern; all when absent.
    #[serde(default)]
    pub matcher: Option<String>,
    /// What is run.
    pub action: HookAction,
    /// How long it may take, its start included, in milliseconds.
    pub timeout_ms: u64,
    /// What its failure means.
    #[serde(default)]
    pub failure: HookFailure,
    /// In which family's words it speaks.
    #[serde(default)]
    pub dialect: HookDialect,
    /// Where it was written: a file, with the place in it.
    pub source: String,
    /// The files of the project that it runs, as they were when the project was trusted. It runs with no others. They are
    /// looked at anew in every run, so nobody writes them down.
    #[serde(skip)]
    pub programs: Vec<HookProgram>,
}

/// A file that a hook runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookProgram {
    /// The file, from the folder that the hook runs in.
    pub path: String,
    /// What it holds, in short.
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
        /// The folder it runs in, from the project's top; the session's when absent.
        #[serde(default)]
        cwd: Option<String>,
        /// Variables for it alone.
        #[serde(default)]
        env: BTreeMap<String, String>,
    },
    /// An address that JSON is posted to.
    Http {
        /// The address.
        url: String,
        /// Headers; `$NAME` stands for a variable that `allowed_env` names.
        #[serde(default)]
        headers: BTreeMap<String, String>,
        /// Variables that headers may hold.
        #[serde(default)]
        allowed_env: Vec<String>,
    },
    /// A function of the program that drives the session. No file can name one.
    Client {
        /// What the program knows it by.
        id: String,
    },
}

/// What it means when a hook fails: cannot start, times out, ends with another code than 0 or 2, or says no JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookFailure {
    /// Nothing: the work goes on.
    #[default]
    Open,
    /// No: what the hook guards does not happen.
    Closed,
}

/// The two families' words for the same things.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookDialect {
    /// `sessionId`, `toolName`, `modifiedArgs`.
    #[default]
    Camel,
    /// `session_id`, `tool_name`, `updatedInput` in `hookSpecificOutput`.
    Snake,
}
