//! Arguments of `bosun tasks`.

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use protocol::{TaskState, TaskType};

/// `bosun tasks`.
#[derive(Debug, clap::Args)]
pub(crate) struct TasksArgs {
    #[command(subcommand)]
    pub(crate) command: Option<TasksCommand>,
    #[command(flatten)]
    pub(crate) list: TaskListArgs,
}

/// Selects the tasks to list.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TaskListArgs {
    /// Tasks of this session instead of the newest one of this folder; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Tasks of every session
    #[arg(long, conflicts_with = "session")]
    pub(crate) all: bool,
    /// Only tasks in this state
    #[arg(long, value_name = "STATE", value_parser = PossibleValuesParser::new(TaskState::NAMES))]
    pub(crate) state: Option<String>,
    /// Only tasks of this kind
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(TaskType::ALL.map(TaskType::name)))]
    pub(crate) kind: Option<String>,
    /// Only this task and the tasks below it
    #[arg(long, value_name = "PATH")]
    pub(crate) below: Option<String>,
    /// Includes removed tasks
    #[arg(long)]
    pub(crate) removed: bool,
    /// With --all, shows at most this many sessions (50)
    #[arg(long, value_name = "N", requires = "all")]
    pub(crate) limit: Option<u64>,
    /// With --all, skips this many of the newest sessions
    #[arg(long, value_name = "N", requires = "all", default_value_t = 0)]
    pub(crate) offset: u64,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Selects a task.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TaskArgs {
    /// Path, name or id of the task, or the beginning of its id
    #[arg(value_name = "TASK")]
    pub(crate) task: String,
    /// A task of this session instead of the newest one of this folder
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `bosun tasks` subcommands, which work from any terminal.
#[derive(Debug, Subcommand)]
pub(crate) enum TasksCommand {
    /// Lists tasks as a tree
    List(TaskListArgs),
    /// Shows the details of one task
    Show(TaskArgs),
    /// Shows what a task did, and follows it until it finishes
    Tail {
        #[command(flatten)]
        chosen: TaskArgs,
        /// Includes all tasks below it
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
        /// The agent reads it when it would finish
        #[arg(long, conflicts_with = "interrupt")]
        follow_up: bool,
        /// The agent reads it now; drops the running turn
        #[arg(long)]
        interrupt: bool,
    },
    /// Stops a task and everything below it, after a last turn without tools
    Stop {
        #[command(flatten)]
        chosen: TaskArgs,
        /// Stops at once, without the last turn
        #[arg(long)]
        now: bool,
        /// Accepted for compatibility: a stop always includes the tasks below
        #[arg(long, hide = true)]
        tree: bool,
    },
    /// Prints the output of a command, or the last answer of an agent
    Output(TaskArgs),
    /// Lets the session's agent continue without waiting for a task
    Background(TaskArgs),
    /// Removes a finished task from lists; `bosun gc` removes its output
    Rm(TaskArgs),
}
