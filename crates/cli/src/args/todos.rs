//! Arguments of `bosun todos`.

use clap::{Subcommand, ValueEnum};
use protocol::TodoStatus;

/// `bosun todos`.
#[derive(Debug, clap::Args)]
pub(crate) struct TodosArgs {
    #[command(subcommand)]
    pub(crate) command: Option<TodosCommand>,
    #[command(flatten)]
    pub(crate) list: TodoListArgs,
}

/// Selects the session, and the output format.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TodoSessionArgs {
    /// Todos of this session instead of the newest one of this folder; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Selects the todos to list.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TodoListArgs {
    #[command(flatten)]
    pub(crate) session_args: TodoSessionArgs,
    /// Only todos with this status
    #[arg(long, value_enum, value_name = "STATUS")]
    pub(crate) status: Option<TodoStatusArg>,
}

/// Status of a todo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum TodoStatusArg {
    /// No agent works on it.
    Pending,
    /// An agent works on it.
    InProgress,
    /// It is done.
    Done,
    /// It cannot be done for now.
    Blocked,
}

impl From<TodoStatusArg> for TodoStatus {
    fn from(status: TodoStatusArg) -> TodoStatus {
        match status {
            TodoStatusArg::Pending => TodoStatus::Pending,
            TodoStatusArg::InProgress => TodoStatus::InProgress,
            TodoStatusArg::Done => TodoStatus::Done,
            TodoStatusArg::Blocked => TodoStatus::Blocked,
        }
    }
}

/// A todo to add.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct NewTodoArgs {
    /// What to do, in one line
    pub(crate) title: String,
    /// Its id (default: derived from the title)
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// A todo that must be done first (may be repeated)
    #[arg(long, value_name = "ID")]
    pub(crate) depends_on: Vec<String>,
    /// Details for the agent that does it
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// The agent to do it
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// A shell command that must exit with code 0 when it is done
    #[arg(long, value_name = "COMMAND")]
    pub(crate) check: Option<String>,
    /// A pattern of files that it reads or changes (may be repeated)
    #[arg(long, value_name = "PATTERN")]
    pub(crate) files: Vec<String>,
    #[command(flatten)]
    pub(crate) session_args: TodoSessionArgs,
}

/// Selects todos.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TodoArgs {
    /// Ids of the todos
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) session_args: TodoSessionArgs,
}

/// `bosun todos` subcommands, which work from any terminal.
#[derive(Debug, Subcommand)]
pub(crate) enum TodosCommand {
    /// Lists todos in the order they were added
    List(TodoListArgs),
    /// Lists todos that are ready to work on
    Ready(TodoSessionArgs),
    /// Shows the dependencies of todos
    Graph {
        #[command(flatten)]
        session_args: TodoSessionArgs,
        /// Prints a Mermaid flowchart
        #[arg(long, conflicts_with = "json")]
        mermaid: bool,
        /// Prints a graph for Graphviz
        #[arg(long, conflicts_with_all = ["json", "mermaid"])]
        dot: bool,
    },
    /// Shows the progress of todos and the agents at work, live
    Watch(TodoSessionArgs),
    /// Adds a todo
    Add(NewTodoArgs),
    /// Marks todos as done
    Done(TodoArgs),
    /// Marks todos as blocked
    Block {
        #[command(flatten)]
        chosen: TodoArgs,
        /// Why they are blocked
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Sets blocked or done todos back to pending
    Reopen(TodoArgs),
}
