//! Task types, and everything that depends on the type of a task. Other code asks the methods of [`TaskType`] and never
//! compares types, so that a new type is one variant and one row here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ExternalTaskSpec, McpTaskReport, McpTaskSpec, QuestionSpec, TaskSpec};

/// The type of a task, which decides which executor runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TaskType {
    /// The session's root conversation.
    Main,
    /// An agent that another agent started.
    Agent,
    /// A shell command in the background.
    Shell,
    /// A shell command that the user runs; no model learns of it.
    #[serde(rename = "user-shell")]
    UserShell,
    /// A command that runs again and again until it succeeds.
    Monitor,
    /// Work that a client does itself and reports.
    External,
    /// A question to a model outside of any conversation: one turn without tools.
    Question,
    /// A call that an MCP server does as a task of its own.
    #[serde(rename = "mcp-task")]
    McpTask,
    /// A call of an MCP server's tool that has moved to the background.
    #[serde(rename = "mcp-call")]
    McpCall,
}

/// How views show a task: which output it has, and whether it has a model and a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskForm {
    /// A conversation with a model.
    Agent,
    /// A program whose output goes to a spool.
    Command,
    /// Work elsewhere, of which only reports are known.
    Reported,
    /// One answer of a model.
    Question,
}

/// What happens to a running task when its owner dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerLoss {
    /// The next owner resumes it.
    Resume,
    /// It cannot be resumed and is lost.
    Lost,
    /// It is interrupted until a client claims it.
    Orphaned,
}

/// Which task gets the end of a background task as mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReport {
    /// The task that started it.
    Parent,
    /// The root, if it started it; any other task reads the output when it needs it.
    Root,
    /// No task: only views show the end.
    Unreported,
}

/// The answers for one task type.
#[derive(Debug)]
struct TaskTypeRules {
    name: &'static str,
    label: &'static str,
    form: TaskForm,
    is_root: bool,
    counts_as_agent: bool,
    needs_slot: bool,
    has_inbox: bool,
    may_have_children: bool,
    completes_with_answer: bool,
    takes_last_turn: bool,
    answers_at_spawn: bool,
    reports_end: EndReport,
    keeps_session_busy: bool,
    is_hidden: bool,
    asks_user: bool,
    is_user_command: bool,
    on_owner_loss: OwnerLoss,
}

impl TaskType {
    /// Every type.
    pub const ALL: [TaskType; 9] = [
        TaskType::Main,
        TaskType::Agent,
        TaskType::Shell,
        TaskType::UserShell,
        TaskType::Monitor,
        TaskType::External,
        TaskType::Question,
        TaskType::McpTask,
        TaskType::McpCall,
    ];

    const fn rules(self) -> &'static TaskTypeRules {
        match self {
            TaskType::Main => &TaskTypeRules {
                name: "main",
                label: "agent",
                form: TaskForm::Agent,
                is_root: true,
                counts_as_agent: false,
                needs_slot: false,
                has_inbox: true,
                may_have_children: true,
                completes_with_answer: true,
                takes_last_turn: true,
                answers_at_spawn: false,
                reports_end: EndReport::Root,
                keeps_session_busy: true,
                is_hidden: false,
                asks_user: false,
                is_user_command: false,
                on_owner_loss: OwnerLoss::Resume,
            },
            TaskType::Agent => &TaskTypeRules {
                name: "agent",
                label: "agent",
                form: TaskForm::Agent,
                is_root: false,
                counts_as_agent: true,
                needs_slot: true,
                has_inbox: true,
                may_have_children: true,
                completes_with_answer: true,
                takes_last_turn: true,
                answers_at_spawn: true,
                reports_end: EndReport::Parent,
                keeps_session_busy: true,
                is_hidden: false,
                asks_user: false,
                is_user_command: false,
                on_owner_loss: OwnerLoss::Resume,
            },
            TaskType::Shell => &TaskTypeRules {
                name: "shell",
                label: "command",
                form: TaskForm::Command,
                is_root: false,
                counts_as_agent: false,
                needs_slot: false,
                has_inbox: false,
                may_have_children: false,
                completes_with_answer: false,
                takes_last_turn: false,
                answers_at_spawn: false,
                reports_end: EndReport::Root,
                keeps_session_busy: true,
                is_hidden: false,
                asks_user: false,
                is_user_command: false,
                on_owner_loss: OwnerLoss::Lost,
            },
            TaskType::UserShell => &TaskTypeRules {
                name: "user-shell",
                label: "command",
                form: TaskForm::Command,
                is_root: false,
                counts_as_agent: false,
                needs_slot: false,
                has_inbox: false,
                may_have_children: false,
                completes_with_answer: false,
                takes_last_turn: false,
                answers_at_spawn: false,
                reports_end: EndReport::Unreported,
                keeps_session_busy: false,
                is_hidden: false,
                asks_user: false,
                is_user_command: true,
                on_owner_loss: OwnerLoss::Lost,
            },
            TaskType::Monitor => &TaskTypeRules {
                name: "monitor",
                label: "monitor",
                form: TaskForm::Command,
                is_root: false,
                counts_as_agent: false,
                needs_slot: false,
                has_inbox: false,
                may_have_children: false,
                completes_with_answer: false,
                takes_last_turn: false,
                answers_at_spawn: false,
                reports_end: EndReport::Root,
                keeps_session_busy: true,
                is_hidden: false,
                asks_user: false,
                is_user_command: false,
                on_owner_loss: OwnerLoss::Lost,
            },
            TaskType::External => &TaskTypeRules {
                name: "external",
                label: "external task",
                form: TaskForm::Reported,
                is_root: false,
                counts_as_agent: false,
                needs_slot: false,
                has_inbox: false,
                may_have_children: false,
                completes_with_answer: false,
                takes_last_turn: false,
                answers_at_spawn: false,
                reports_end: EndReport::Unreported,
                keeps_session_busy: false,
                is_hidden: false,
                asks_user: false,
                is_user_command: false,
                on_owner_loss: OwnerLoss::Orphaned,
            },
            TaskType::Question => &TaskTypeRules {
                name: "question",
                label: "question",
                form: TaskForm::Question,
                is_root: false,
                counts_as_agent: false,
                needs_slot: false,
                has_inbox: false,
                may_have_children: false,
                completes_with_answer: true,
                takes_last_turn: false,
                answers_at_spawn: false,
                reports_end: EndReport::Unreported,
                keeps_session_busy: true,
                is_hidden: true,
                asks_user: false,
                is_user_command: false,
                on_owner_loss: OwnerLoss::Lost,
            },
            TaskType::McpTask => &TaskTypeRules {
                name: "mcp-task",
                label: "MCP task",
                form: TaskForm::Reported,
                is_root: false,
                counts_as_agent: false,
                needs_slot: false,
                has_inbox: false,
                may_have_children: false,
                completes_with_answer: false,
                takes_last_turn: false,
                answers_at_spawn: false,
                reports_end: EndReport::Parent,
                keeps_session_busy: true,
                is_hidden: false,
                asks_user: true,
                is_user_command: false,
                on_owner_loss: OwnerLoss::Resume,
            },
            TaskType::McpCall => &TaskTypeRules {
                name: "mcp-call",
                label: "MCP call",
                form: TaskForm::Reported,
                is_root: false,
                counts_as_agent: false,
                needs_slot: false,
                has_inbox: false,
                may_have_children: false,
                completes_with_answer: false,
                takes_last_turn: false,
                answers_at_spawn: false,
                reports_end: EndReport::Parent,
                keeps_session_busy: true,
                is_hidden: false,
                asks_user: true,
                is_user_command: false,
                on_owner_loss: OwnerLoss::Lost,
            },
        }
    }

    /// The type of a call of an MCP server's tool.
    pub const fn of_mcp(mcp: &McpTaskSpec) -> TaskType {
        if mcp.remote.is_some() { TaskType::McpTask } else { TaskType::McpCall }
    }

    /// Its name, as in JSON and on the command line.
    pub const fn name(self) -> &'static str {
        self.rules().name
    }

    /// The type with this name.
    pub fn from_name(name: &str) -> Option<TaskType> {
        TaskType::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The word for a task of this type in texts for models and people.
    pub const fn label(self) -> &'static str {
        self.rules().label
    }

    /// How views show it.
    pub const fn form(self) -> TaskForm {
        self.rules().form
    }

    /// Whether it is a conversation with a model: the root or a subagent.
    pub const fn is_agent(self) -> bool {
        matches!(self.form(), TaskForm::Agent)
    }

    /// Whether it is an agent below the root.
    pub const fn is_subagent(self) -> bool {
        self.is_agent() && !self.is_root()
    }

    /// Whether it is a command that the user runs.
    pub const fn is_user_command(self) -> bool {
        self.rules().is_user_command
    }

    /// Whether it is the session's root, which waits for its first message and never finishes.
    pub const fn is_root(self) -> bool {
        self.rules().is_root
    }

    /// Whether the limits on depth, total and rate of agents apply to its start.
    pub const fn counts_as_agent(self) -> bool {
        self.rules().counts_as_agent
    }

    /// Whether it needs one of the session's slots to run.
    pub const fn needs_slot(self) -> bool {
        self.rules().needs_slot
    }

    /// Whether others may send it messages.
    pub const fn has_inbox(self) -> bool {
        self.rules().has_inbox
    }

    /// Whether it may start tasks.
    pub const fn may_have_children(self) -> bool {
        self.rules().may_have_children
    }

    /// Whether it is complete only with a final message, no open call and no unread mail.
    pub const fn completes_with_answer(self) -> bool {
        self.rules().completes_with_answer
    }

    /// Whether it takes a last turn when it is asked to stop, instead of being aborted.
    pub const fn takes_last_turn(self) -> bool {
        self.rules().takes_last_turn
    }

    /// Whether the kernel answers the call that starts it in the background, in the same decision. The executor of any
    /// other call answers it.
    pub const fn answers_at_spawn(self) -> bool {
        self.rules().answers_at_spawn
    }

    /// Whose mail its end is, if it runs in the background.
    pub const fn reports_end(self) -> EndReport {
        self.rules().reports_end
    }

    /// Whether the session is at work while it runs.
    pub const fn keeps_session_busy(self) -> bool {
        self.rules().keeps_session_busy
    }

    /// Whether views show it only on request.
    pub const fn is_hidden(self) -> bool {
        self.rules().is_hidden
    }

    /// Whether it may ask the user itself, outside of a model's tool call.
    pub const fn asks_user(self) -> bool {
        self.rules().asks_user
    }

    /// What happens to it when its owner dies while it runs.
    pub const fn on_owner_loss(self) -> OwnerLoss {
        self.rules().on_owner_loss
    }
}

impl TaskSpec {
    /// The root of a session, with default values.
    pub fn root(agent: impl Into<String>) -> TaskSpec {
        TaskSpec::new(TaskType::Main, agent, "root")
    }

    /// An agent below the root, with default values.
    pub fn agent(agent: impl Into<String>, name: impl Into<String>) -> TaskSpec {
        TaskSpec::new(TaskType::Agent, agent, name)
    }

    /// A shell command in the background, with default values.
    pub fn shell(name: impl Into<String>) -> TaskSpec {
        TaskSpec::new(TaskType::Shell, "shell", name)
    }

    /// A shell command that the user runs, with default values.
    pub fn user_shell(name: impl Into<String>) -> TaskSpec {
        TaskSpec::new(TaskType::UserShell, "shell", name)
    }

    /// A monitor that pauses this long between two runs of its command, with default values.
    pub fn monitor(name: impl Into<String>, every_secs: u32) -> TaskSpec {
        TaskSpec { every_secs: Some(every_secs), ..TaskSpec::new(TaskType::Monitor, "monitor", name) }
    }

    /// Work that a client does itself, with default values.
    pub fn external(name: impl Into<String>, external: ExternalTaskSpec) -> TaskSpec {
        TaskSpec { external: Some(Box::new(external)), ..TaskSpec::new(TaskType::External, "external", name) }
    }

    /// A question to a model, for this purpose, with default values.
    pub fn question(purpose: &str, question: QuestionSpec) -> TaskSpec {
        TaskSpec { question: Some(Box::new(question)), ..TaskSpec::new(TaskType::Question, purpose, purpose) }
    }

    /// A call of an MCP server's tool, with default values: the server's own task, or only its answer.
    pub fn mcp(name: impl Into<String>, mcp: McpTaskSpec) -> TaskSpec {
        let kind = TaskType::of_mcp(&mcp);
        TaskSpec { mcp: Some(Box::new(mcp)), ..TaskSpec::new(kind, kind.name(), name) }
    }

    /// Takes over what the server of an MCP task says of it.
    pub fn apply_mcp_report(&mut self, report: &McpTaskReport) {
        self.kind = report.task_type().unwrap_or(self.kind);
        self.mcp = Some(Box::new(report.spec.clone()));
    }

    /// The same spec for a session's root, whatever type and parent it had.
    #[must_use]
    pub fn into_root(self) -> TaskSpec {
        TaskSpec { parent: None, kind: TaskType::Main, ..self }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_task_type_has_its_own_name() {
        let names: BTreeSet<&str> = TaskType::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), TaskType::ALL.len());
        for kind in TaskType::ALL {
            assert_eq!(TaskType::from_name(kind.name()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        assert_eq!(TaskType::from_name("unknown"), None);
    }

    #[test]
    fn exactly_one_type_is_the_root() {
        let roots: Vec<TaskType> = TaskType::ALL.into_iter().filter(|kind| kind.is_root()).collect();
        assert_eq!(roots, [TaskType::Main]);
        assert!(TaskSpec::shell("make").into_root().kind.is_root());
    }

    #[test]
    fn the_answers_of_a_type_agree_with_each_other() {
        for kind in TaskType::ALL {
            assert!(!kind.needs_slot() || kind.counts_as_agent(), "{kind:?} takes a slot without being limited");
            assert!(!kind.answers_at_spawn() || kind.is_subagent(), "{kind:?}");
            assert!(!kind.asks_user() || !kind.is_agent(), "an agent asks in a tool call: {kind:?}");
            assert!(!kind.may_have_children() || kind.has_inbox(), "{kind:?} gets results of its children by mail");
            assert!(!kind.is_root() || kind.on_owner_loss() == OwnerLoss::Resume, "the root never finishes");
            assert!(
                !kind.is_hidden() || kind.reports_end() == EndReport::Unreported,
                "{kind:?} is hidden and wakes others"
            );
        }
    }
}
