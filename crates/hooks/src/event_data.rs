//! What hooks are told of, and about whom.

use protocol::{
    Activation, Attempt, CallId, CompactionCause, HookEvent, ItemId, ListName, PermissionMode, SessionId, TaskId,
    Timestamp,
};

use crate::tool_names;

/// Something that hooks are told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookEventData {
    /// The session begins.
    SessionStart(SessionOrigin),
    /// The session's run ends.
    SessionEnd {
        /// Why, in a word.
        reason: String,
    },
    /// A person gave the root a prompt.
    Prompt {
        /// The prompt.
        prompt: String,
    },
    /// A tool call is about to be judged.
    PreTool(ToolUse),
    /// A tool call ran.
    PostTool {
        /// The call.
        call: ToolUse,
        /// What the model will be told.
        answer: String,
    },
    /// A tool call ran and failed.
    ToolFailed {
        /// The call.
        call: ToolUse,
        /// What the model will be told.
        error: String,
    },
    /// A person would be asked about a tool call.
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
    /// An agent's activation begins.
    AgentStart,
    /// An activation would end, or has ended.
    AgentStop {
        /// How, in a word.
        reason: String,
        /// What the agent said last.
        last_message: String,
        /// Whether hooks were told of this before and the activation went on.
        is_repeated: bool,
    },
    /// An item of a list is about to be made or completed.
    Item {
        /// Which of the two.
        step: ItemStep,
        /// The item, as it would be.
        item: HookItem,
    },
    /// A conversation is about to be shortened.
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
    /// It is made.
    Created,
    /// It is completed.
    Completed,
}

/// An item of a list, as hooks see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookItem {
    /// The list.
    pub list: ListName,
    /// Its id there.
    pub id: ItemId,
    /// What is to be done, in one line.
    pub subject: String,
    /// What whoever does it must know.
    pub description: String,
    /// Who does it.
    pub owner: Option<String>,
}

/// How a session came to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionOrigin {
    /// Anew.
    New,
    /// Where another process left it.
    Resume,
    /// As a copy.
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

/// What matchers know an agent by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookAgent<'a> {
    /// Its definition.
    pub definition: &'a str,
    /// What its task is called.
    pub name: &'a str,
}

/// Whom an occasion is about, and what tells one occasion from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookContext {
    /// The session.
    pub session: SessionId,
    /// The folder it works in.
    pub cwd: String,
    /// The file with all that the agent heard and said before this.
    pub transcript: String,
    /// What becomes of calls that no rule speaks of.
    pub mode: PermissionMode,
    /// The moment.
    pub at: Timestamp,
    /// The agent.
    pub agent: TaskId,
    /// Who started it; none for the root.
    pub parent: Option<TaskId>,
    /// Its definition.
    pub definition: String,
    /// What people call it.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Where it is in the tree.
    pub path: String,
    /// How far below the root.
    pub depth: u32,
    /// Which of its activations.
    pub activation: Activation,
    /// Which try at that.
    pub attempt: Attempt,
    /// The last event of the agent before this.
    pub sequence: u64,
}

impl HookEventData {
    /// The event that hooks listen for. What ends is the session's own conversation or another agent's.
    pub fn event(&self, is_root: bool) -> HookEvent {
        match self {
            HookEventData::SessionStart(_) => HookEvent::SessionStart,
            HookEventData::SessionEnd { .. } => HookEvent::SessionEnd,
            HookEventData::Prompt { .. } => HookEvent::UserPromptSubmitted,
            HookEventData::PreTool(_) => HookEvent::PreToolUse,
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

    /// What matchers are held against; nothing where every hook is told.
    pub(crate) fn matcher_names<'a>(&'a self, agent: HookAgent<'a>) -> Vec<&'a str> {
        match self {
            HookEventData::PreTool(call)
            | HookEventData::PostTool { call, .. }
            | HookEventData::ToolFailed { call, .. }
            | HookEventData::PermissionRequest { call, .. }
            | HookEventData::PermissionDenied { call, .. } => tool_names::all_names(&call.tool),
            HookEventData::AgentStart | HookEventData::AgentStop { .. } => vec![agent.definition, agent.name],
            HookEventData::SessionStart(origin) => origin.source_names(),
            HookEventData::SessionEnd { reason } => vec![reason],
            HookEventData::Compact(cause) => vec![cause.trigger()],
            HookEventData::Item { .. } | HookEventData::Prompt { .. } | HookEventData::Error { .. } => Vec::new(),
        }
    }

    /// The call it is about, if it is about one.
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
            | HookEventData::AgentStart
            | HookEventData::AgentStop { .. }
            | HookEventData::Item { .. }
            | HookEventData::Compact(_)
            | HookEventData::Error { .. } => None,
        }
    }
}

impl SessionOrigin {
    /// Its names, the first family's first.
    pub(crate) fn source_names(self) -> Vec<&'static str> {
        match self {
            SessionOrigin::New => vec!["new", "startup"],
            SessionOrigin::Resume => vec!["resume"],
            SessionOrigin::Fork => vec!["fork"],
        }
    }
}
