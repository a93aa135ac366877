//! What can be said about tasks.

use clap::{Subcommand, ValueEnum};
use protocol::{TaskState, TaskType};

/// `bosun tasks`.
#[derive(Debug, clap::Args)]
pub(crate) struct TasksArgs {
    #[command(subcommand)]
    pub(crate) command: Option<TasksCommand>,
    #[command(flatten)]
    pub(crate) list: TaskListArgs,
}

/// Which tasks are listed.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TaskListArgs {
    /// Those of this session instead of the newest one of this folder; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Those of every session
    #[arg(long, conflicts_with = "session")]
    pub(crate) all: bool,
    /// Only those in this state
    #[arg(long, value_name = "STATE", value_parser = clap::builder::PossibleValuesParser::new(TaskState::NAMES))]
    pub(crate) state: Option<String>,
    /// Only those of this sort
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) kind: Option<TaskKind>,
    /// Only this task and those below it
    #[arg(long, value_name = "PATH")]
    pub(crate) below: Option<String>,
    /// Those that were removed too
    #[arg(long)]
    pub(crate) removed: bool,
    /// With --all, those of at most this many sessions (50)
    #[arg(long, value_name = "N", requires = "all")]
    pub(crate) limit: Option<u64>,
    /// With --all, skips this many of the newest sessions
    #[arg(long, value_name = "N", requires = "all", default_value_t = 0)]
    pub(crate) offset: u64,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What sort of work a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TaskKind {
    /// The session's root.
    Main,
    /// An agent.
    Agent,
    /// A command in the background.
    Shell,
}

impl From<TaskKind> for TaskType {
    fn from(kind: TaskKind) -> TaskType {
        match kind {
            TaskKind::Main => TaskType::Main,
            TaskKind::Agent => TaskType::Agent,
            TaskKind::Shell => TaskType::Shell,
        }
    }
}

/// Which task.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TaskArgs {
    /// The task: its path, its name, its id, or the beginning of it
    #[arg(value_name = "TASK")]
    pub(crate) task: String,
    /// A task of this session instead of the newest one of this folder
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What can be done with tasks, from any terminal.
#[derive(Debug, Subcommand)]
pub(crate) enum TasksCommand {
    /// Lists tasks as a tree
    List(TaskListArgs),
    /// Shows everything that is kept of one task
    Show(TaskArgs),
    /// Shows what a task did, and follows it until it ends
    Tail {
        #[command(flatten)]
        chosen: TaskArgs,
        /// With everything below it
        #[arg(long)]
        tree: bool,
        /// Only events after this sequence number
        #[arg(long, default_value_t = 0, value_name = "SEQ")]
        after: u64,
    },
    /// Sends a message to an agent
    Send {
        #[command(flatten)]
        chosen: TaskArgs,
        /// The message
        text: String,
        /// It is read when the agent would end
        #[arg(long, conflicts_with = "interrupt")]
        follow_up: bool,
        /// It is read now: the running turn is dropped
        #[arg(long)]
        interrupt: bool,
    },
    /// Stops a task and everything below it, after a last turn without tools
    Stop {
        #[command(flatten)]
        chosen: TaskArgs,
        /// At once
        #[arg(long)]
        now: bool,
        /// As every stop does: with everything below it
        #[arg(long, hide = true)]
        tree: bool,
    },
    /// Prints what a command printed, or what an agent said last
    Output(TaskArgs),
    /// Lets the session's agent go on without waiting for a task
    Background(TaskArgs),
    /// Removes a task that has ended from lists; `bosun gc` removes its output
    Rm(TaskArgs),
}
