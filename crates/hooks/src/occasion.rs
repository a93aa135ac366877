//! What hooks are told of, and about whom.

use protocol::{
    Activation, At, Attempt, CallId, CompactionCause, HookEvent, ItemId, ListName, PermissionMode, SessionId, TaskId,
};

use crate::names;

/// Something that hooks are told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occasion {
    /// The session begins.
    SessionStart(Origin),
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
    Start,
    /// An activation would end, or has ended.
    Stop {
        /// How, in a word.
        reason: String,
        /// What the agent said last.
        said: String,
        /// Whether hooks were told of this before and the activation went on.
        again: bool,
    },
    /// An item of a list is about to be made or completed.
    Item {
        /// Which of the two.
        step: ItemStep,
        /// The item, as it would be.
        item: ItemTold,
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
    Made,
    /// It is completed.
    Completed,
}

/// An item of a list, as hooks see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemTold {
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
pub enum Origin {
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
pub struct Agent<'a> {
    /// Its definition.
    pub kind: &'a str,
    /// What its task is called.
    pub name: &'a str,
}

/// Whom an occasion is about, and what tells one occasion from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The session.
    pub session: SessionId,
    /// The folder it works in.
    pub cwd: String,
    /// The file with all that the agent heard and said before this.
    pub transcript: String,
    /// What becomes of calls that no rule speaks of.
    pub mode: PermissionMode,
    /// The moment.
    pub at: At,
    /// The agent.
    pub agent: TaskId,
    /// Who started it; none for the root.
    pub parent: Option<TaskId>,
    /// Its definition.
    pub kind: String,
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

impl Occasion {
    /// The event that hooks listen for. What ends is the session's own conversation or another agent's.
    pub fn event(&self, is_root: bool) -> HookEvent {
        match self {
            Occasion::SessionStart(_) => HookEvent::SessionStart,
            Occasion::SessionEnd { .. } => HookEvent::SessionEnd,
            Occasion::Prompt { .. } => HookEvent::UserPromptSubmitted,
            Occasion::PreTool(_) => HookEvent::PreToolUse,
            Occasion::PostTool { .. } => HookEvent::PostToolUse,
            Occasion::ToolFailed { .. } => HookEvent::PostToolUseFailure,
            Occasion::PermissionRequest { .. } => HookEvent::PermissionRequest,
            Occasion::PermissionDenied { .. } => HookEvent::PermissionDenied,
            Occasion::Start => HookEvent::SubagentStart,
            Occasion::Stop { .. } if is_root => HookEvent::AgentStop,
            Occasion::Stop { .. } => HookEvent::SubagentStop,
            Occasion::Item { step: ItemStep::Made, .. } => HookEvent::TaskCreated,
            Occasion::Item { step: ItemStep::Completed, .. } => HookEvent::TaskCompleted,
            Occasion::Compact(_) => HookEvent::PreCompact,
            Occasion::Error { .. } => HookEvent::ErrorOccurred,
        }
    }

    /// What matchers are held against; nothing where every hook is told.
    pub(crate) fn names<'a>(&'a self, agent: Agent<'a>) -> Vec<&'a str> {
        match self {
            Occasion::PreTool(call)
            | Occasion::PostTool { call, .. }
            | Occasion::ToolFailed { call, .. }
            | Occasion::PermissionRequest { call, .. }
            | Occasion::PermissionDenied { call, .. } => names::all(&call.tool),
            Occasion::Start | Occasion::Stop { .. } => vec![agent.kind, agent.name],
            Occasion::SessionStart(origin) => origin.words(),
            Occasion::SessionEnd { reason } => vec![reason],
            Occasion::Compact(cause) => vec![cause.trigger()],
            Occasion::Item { .. } | Occasion::Prompt { .. } | Occasion::Error { .. } => Vec::new(),
        }
    }

    /// The call it is about, if it is about one.
    pub(crate) fn call(&self) -> Option<&ToolUse> {
        match self {
            Occasion::PreTool(call)
            | Occasion::PostTool { call, .. }
            | Occasion::ToolFailed { call, .. }
            | Occasion::PermissionRequest { call, .. }
            | Occasion::PermissionDenied { call, .. } => Some(call),
            Occasion::SessionStart(_)
            | Occasion::SessionEnd { .. }
            | Occasion::Prompt { .. }
            | Occasion::Start
            | Occasion::Stop { .. }
            | Occasion::Item { .. }
            | Occasion::Compact(_)
            | Occasion::Error { .. } => None,
        }
    }
}

impl Origin {
    /// Its names, the first family's first.
    pub(crate) fn words(self) -> Vec<&'static str> {
        match self {
            Origin::New => vec!["new", "startup"],
            Origin::Resume => vec!["resume"],
            Origin::Fork => vec!["fork"],
        }
    }
}
