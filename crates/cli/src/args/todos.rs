//! What can be said about todos.

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

/// Whose todos, and in which form.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TodoSessionArgs {
    /// Those of this session instead of the newest one of this folder; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which todos are listed.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TodoListArgs {
    #[command(flatten)]
    pub(crate) session_args: TodoSessionArgs,
    /// Only those that are this far
    #[arg(long, value_enum, value_name = "STATUS")]
    pub(crate) status: Option<TodoStatusArg>,
}

/// How far a todo is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum TodoStatusArg {
    /// Nobody works on it.
    Pending,
    /// Somebody does.
    InProgress,
    /// It is done.
    Done,
    /// It cannot be done as things are.
    Blocked,
}

impl From<TodoStatusArg> for TodoStatus {
    fn from(word: TodoStatusArg) -> TodoStatus {
        match word {
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
    /// What is to be done, in one line
    pub(crate) title: String,
    /// Its id; made from the title unless given
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// A todo that must be done first; may be repeated
    #[arg(long, value_name = "ID")]
    pub(crate) depends_on: Vec<String>,
    /// What whoever does it must know
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// The agent that is to do it
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// A shell command that must exit with code 0 when it is done
    #[arg(long, value_name = "COMMAND")]
    pub(crate) check: Option<String>,
    /// A pattern of files that it reads and changes; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub(crate) files: Vec<String>,
    #[command(flatten)]
    pub(crate) session_args: TodoSessionArgs,
}

/// Which todos.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TodoArgs {
    /// The todos
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) session_args: TodoSessionArgs,
}

/// What can be done with todos, from any terminal.
#[derive(Debug, Subcommand)]
pub(crate) enum TodosCommand {
    /// Lists todos in the order that they were written
    List(TodoListArgs),
    /// Lists those that can be worked on now
    Ready(TodoSessionArgs),
    /// Shows which depend on which
    Graph {
        #[command(flatten)]
        session_args: TodoSessionArgs,
        /// As a Mermaid flowchart
        #[arg(long, conflicts_with = "json")]
        mermaid: bool,
        /// As a graph for Graphviz
        #[arg(long, conflicts_with_all = ["json", "mermaid"])]
        dot: bool,
    },
    /// Shows what is done, what everybody works on and what is left, as it changes
    Watch(TodoSessionArgs),
    /// Adds a todo
    Add(NewTodoArgs),
    /// Says that todos are done
    Done(TodoArgs),
    /// Says that a todo cannot be done as things are
    Block {
        #[command(flatten)]
        chosen: TodoArgs,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Has todos done that are blocked or were done before
    Reopen(TodoArgs),
}
