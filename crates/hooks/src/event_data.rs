//! The data of hook events, and the context they happen in.

use protocol::{
    Activation, Attempt, CallId, CompactionCause, HookEvent, ItemId, ListName, PermissionMode, SessionId, TaskId,
    Timestamp,
};

use serde_json::Value;

use crate::tool_names;

/// An event with its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookEventData {
    /// The session starts.
    SessionStart(SessionOrigin),
    /// The session's run ends.
    SessionEnd {
        /// Why, in one word.
        reason: String,
    },
    /// The user prompted the root.
    Prompt {
        /// The prompt.
        prompt: String,
    },
    /// The user's prompt is about to be stored as the root's model will read it.
    TransformedPrompt {
        /// The prompt as the user sees it.
        prompt: String,
        /// The prompt as the model will read it.
        transformed: String,
    },
    /// A call of an MCP server's tool is about to be sent to the server.
    PreMcp(McpToolUse),
    /// The policy is about to decide on a tool call.
    PreTool(ToolUse),
    /// A tool call ran.
    PostTool {
        /// The call.
        call: ToolUse,
        /// The result for the model.
        answer: String,
    },
    /// A tool call ran and failed.
    ToolFailed {
        /// The call.
        call: ToolUse,
        /// The error for the model.
        error: String,
    },
    /// The user is about to be asked about a tool call.
    PermissionRequest {
        /// The call.
        call: ToolUse,
        /// Why it is not simply allowed.
        reason: String,
    },
    /// A tool call was denied.
    PermissionDenied {
        /// The call.
        call: ToolUse,
        /// Why.
        reason: String,
    },
    /// An agent's activation starts.
    AgentStart,
    /// An activation is about to end, or has ended.
    AgentStop {
        /// How, in one word.
        reason: String,
        /// The agent's last message.
        last_message: String,
        /// Whether hooks saw this before and the activation continued.
        is_repeated: bool,
    },
    /// An item of a shared list is about to be created or completed.
    Item {
        /// Which of the two.
        step: ItemStep,
        /// The item after the change.
        item: HookItem,
    },
    /// A conversation is about to be compacted.
    Compact(CompactionCause),
    /// A model or a tool failed.
    Error {
        /// What failed.
        what: &'static str,
        /// How.
        message: String,
    },
}

/// What is about to happen to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemStep {
    /// It is created.
    Created,
    /// It is completed.
    Completed,
}

/// An item of a shared list, as hooks see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookItem {
    /// The list.
    pub list: ListName,
    /// Its id in the list.
    pub id: ItemId,
    /// The work to be done, in one line.
    pub subject: String,
    /// Details for its owner.
    pub description: String,
    /// The agent that works on it.
    pub owner: Option<String>,
}

/// How a session started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionOrigin {
    /// As a new session.
    New,
    /// Resumed from an earlier process.
    Resume,
    /// As a copy of another.
    Fork,
}

/// A tool call, as hooks see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse {
    /// The call.
    pub id: CallId,
    /// The tool.
    pub tool: String,
    /// Its arguments, exactly as they would be run.
    pub input: String,
}

/// A call of an MCP server's tool, as the server gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpToolUse {
    /// The call.
    pub id: CallId,
    /// The tool, as models know it.
    pub tool: String,
    /// The server.
    pub server: String,
    /// The tool, as the server knows it.
    pub server_tool: String,
    /// Its arguments.
    pub arguments: Value,
}

/// The names of an agent for matchers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookAgent<'a> {
    /// Its definition.
    pub definition: &'a str,
    /// Its task's name.
    pub name: &'a str,
}

/// The context of an event: the session, the agent, and ids that identify the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookContext {
    /// The session.
    pub session: SessionId,
    /// The folder it works in.
    pub cwd: String,
    /// The file with the agent's conversation so far.
    pub transcript: String,
    /// The permission mode.
    pub mode: PermissionMode,
    /// When the event happened.
    pub occurred_at: Timestamp,
    /// The agent.
    pub agent: TaskId,
    /// The agent that started it; `None` for the root.
    pub parent: Option<TaskId>,
    /// Its definition.
    pub definition: String,
    /// Its name for people.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its path in the task tree.
    pub path: String,
    /// Its depth below the root.
    pub depth: u32,
    /// The activation.
    pub activation: Activation,
    /// The attempt at that activation.
    pub attempt: Attempt,
    /// The sequence number of the agent's last event before this.
    pub sequence: u64,
}

impl HookEventData {
    /// The event that hooks subscribe to. The end of the root's activation is an event of its own.
    pub fn event(&self, is_root: bool) -> HookEvent {
        match self {
            HookEventData::SessionStart(_) => HookEvent::SessionStart,
            HookEventData::SessionEnd { .. } => HookEvent::SessionEnd,
            HookEventData::Prompt { .. } => HookEvent::UserPromptSubmitted,
            HookEventData::TransformedPrompt { .. } => HookEvent::UserPromptTransformed,
            HookEventData::PreTool(_) => HookEvent::PreToolUse,
            HookEventData::PreMcp(_) => HookEvent::PreMcpToolCall,
            HookEventData::PostTool { .. } => HookEvent::PostToolUse,
            HookEventData::ToolFailed { .. } => HookEvent::PostToolUseFailure,
            HookEventData::PermissionRequest { .. } => HookEvent::PermissionRequest,
            HookEventData::PermissionDenied { .. } => HookEvent::PermissionDenied,
            HookEventData::AgentStart => HookEvent::SubagentStart,
            HookEventData::AgentStop { .. } if is_root => HookEvent::AgentStop,
            HookEventData::AgentStop { .. } => HookEvent::SubagentStop,
            HookEventData::Item { step: ItemStep::Created, .. } => HookEvent::TaskCreated,
            HookEventData::Item { step: ItemStep::Completed, .. } => HookEvent::TaskCompleted,
            HookEventData::Compact(_) => HookEvent::PreCompact,
            HookEventData::Error { .. } => HookEvent::ErrorOccurred,
        }
    }

    /// The names that matchers are compared with; empty if every hook runs.
    pub(crate) fn matcher_names<'a>(&'a self, agent: HookAgent<'a>) -> Vec<&'a str> {
        match self {
            HookEventData::PreTool(call)
            | HookEventData::PostTool { call, .. }
            | HookEventData::ToolFailed { call, .. }
            | HookEventData::PermissionRequest { call, .. }
            | HookEventData::PermissionDenied { call, .. } => tool_names::all_names(&call.tool),
            HookEventData::PreMcp(call) => tool_names::all_names(&call.tool),
            HookEventData::AgentStart | HookEventData::AgentStop { .. } => vec![agent.definition, agent.name],
            HookEventData::SessionStart(origin) => origin.source_names(),
            HookEventData::SessionEnd { reason } => vec![reason],
            HookEventData::Compact(cause) => vec![cause.trigger()],
            HookEventData::Item { .. }
            | HookEventData::Prompt { .. }
            | HookEventData::TransformedPrompt { .. }
            | HookEventData::Error { .. } => Vec::new(),
        }
    }

    /// The tool call, if it concerns one.
    pub(crate) fn call(&self) -> Option<&ToolUse> {
        match self {
            HookEventData::PreTool(call)
            | HookEventData::PostTool { call, .. }
            | HookEventData::ToolFailed { call, .. }
            | HookEventData::PermissionRequest { call, .. }
            | HookEventData::PermissionDenied { call, .. } => Some(call),
            HookEventData::SessionStart(_)
            | HookEventData::SessionEnd { .. }
            | HookEventData::Prompt { .. }
            | HookEventData::TransformedPrompt { .. }
            | HookEventData::PreMcp(_)
            | HookEventData::AgentStart
            | HookEventData::AgentStop { .. }
            | HookEventData::Item { .. }
            | HookEventData::Compact(_)
            | HookEventData::Error { .. } => None,
        }
    }
}

impl SessionOrigin {
    /// Its names, Copilot's first.
    pub(crate) fn source_names(self) -> Vec<&'static str> {
        match self {
            SessionOrigin::New => vec!["new", "startup"],
            SessionOrigin::Resume => vec!["resume"],
            SessionOrigin::Fork => vec!["fork"],
        }
    }
}
