//! Arguments of `bosun agents`.

use clap::Subcommand;

use super::run::RunArgs;
use super::sessions::SendTiming;

/// `bosun agents`.
#[derive(Debug, clap::Args)]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<AgentsCommand>,
    #[command(flatten)]
    pub(crate) list: AgentListArgs,
}

/// Selects the sessions to list.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct AgentListArgs {
    /// Every session, not only those that run or have changed in the last 24 hours
    #[arg(long)]
    pub(crate) all: bool,
    /// Only sessions of this folder
    #[arg(long)]
    pub(crate) here: bool,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `bosun agents` subcommands, which work from any terminal. An ID may be the beginning of one.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// Lists sessions, those that need you first
    List(AgentListArgs),
    /// Starts a session in the background, and prints its id
    Start {
        /// What to do; `-` reads it from stdin
        #[arg(value_name = "PROMPT")]
        task: String,
        #[command(flatten)]
        run: Box<RunArgs>,
    },
    /// Shows a session's conversation, and continues it; leaving changes nothing
    Attach {
        /// The session (default: the one that needs you, or else the one that changed last)
        id: Option<String>,
    },
    /// Prints what the main agent of a session did
    Logs {
        /// The session
        id: String,
        /// Continues until no process runs the session
        #[arg(long, short)]
        follow: bool,
        /// Includes all tasks below it
        #[arg(long)]
        tree: bool,
        /// Prints events as JSON lines
        #[arg(long)]
        json: bool,
    },
    /// Sends a message to a session; one that does not run continues in the background
    Send {
        /// The session
        id: String,
        /// The message
        text: String,
        /// When the agent reads it
        #[arg(long, value_enum, default_value_t = SendTiming::Steer, value_name = "WHEN")]
        when: SendTiming,
    },
    /// Stops everything a session runs; it can be resumed
    Stop {
        /// The session
        id: String,
    },
    /// Resumes the interrupted work of a session in the background
    Resume {
        /// The session
        id: String,
    },
    /// Removes sessions permanently
    Rm {
        /// The sessions
        #[arg(required = true)]
        ids: Vec<String>,
    },
}
