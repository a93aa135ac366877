//! Arguments of `bosun sessions`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

/// `bosun sessions`.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<SessionsCommand>,
    #[command(flatten)]
    pub(crate) list: SessionListArgs,
}

/// Options of a list of sessions.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct SessionListArgs {
    /// Only sessions of this folder
    #[arg(long)]
    pub(crate) here: bool,
    /// At most this many (50; with --json all)
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Skips this many of the newest sessions
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) offset: u64,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `bosun sessions` subcommands. An ID may be the beginning of one.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// Lists sessions, newest first
    List(SessionListArgs),
    /// Shows one session and its tasks
    Show {
        /// The session
        id: String,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Writes a session's whole log
    Export {
        /// The session
        id: String,
        /// Markdown or HTML to read, or JSON with every event
        #[arg(long, value_enum, default_value_t = ExportFormat::Markdown, value_name = "FORMAT")]
        format: ExportFormat,
        /// Writes to this file instead of stdout
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Accepts the current state of a session whose log has lost events or was changed
    Repair {
        /// The session
        id: String,
    },
    /// Removes sessions permanently
    Rm {
        /// The sessions
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Sends a message to a session, running or not
    Send {
        /// The session
        id: String,
        /// The message
        text: String,
        /// When the agent reads it
        #[arg(long, value_enum, default_value_t = SendTiming::Steer, value_name = "WHEN")]
        when: SendTiming,
    },
    /// Interrupts the running turn of a session
    Interrupt {
        /// The session
        id: String,
    },
    /// Stops everything a session runs; it can be resumed
    Stop {
        /// The session
        id: String,
    },
    /// Prints a session's events as they happen, as JSON lines
    Watch {
        /// The session
        id: String,
        /// Only events after this sequence number
        #[arg(long, default_value_t = 0, value_name = "SEQ")]
        after: u64,
    },
}

/// Format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// For reading.
    Markdown,
    /// Every event.
    Json,
    /// For reading in a browser.
    Html,
}

/// When the agent reads a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SendTiming {
    /// Between two turns.
    Steer,
    /// When the agent would finish.
    FollowUp,
    /// Now; drops the running turn.
    Interrupt,
}
