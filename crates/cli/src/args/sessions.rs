//! What can be said about sessions.

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
    /// Only those of this folder
    #[arg(long)]
    pub(crate) here: bool,
    /// At most this many (50; with --json all)
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Skips this many of the newest
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) offset: u64,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What can be done with sessions. An ID may be the beginning of one.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// Lists sessions, newest first
    List(SessionListArgs),
    /// Shows one session and its tasks
    Show {
        /// The session
        id: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Writes a session's whole log
    Export {
        /// The session
        id: String,
        /// Markdown or a page of HTML to read, or JSON with every event
        #[arg(long, value_enum, default_value_t = ExportFormat::Markdown, value_name = "FORMAT")]
        format: ExportFormat,
        /// Writes to this file instead of stdout
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Accepts a session whose log has lost events or was changed as it is now
    Repair {
        /// The session
        id: String,
    },
    /// Removes sessions for good
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
        /// When it is read
        #[arg(long, value_enum, default_value_t = SendTiming::Steer, value_name = "WHEN")]
        when: SendTiming,
    },
    /// Stops the running turn of a session
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

/// How a session is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// To read.
    Markdown,
    /// Every event.
    Json,
    /// To read, in a browser.
    Html,
}

/// When a message is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SendTiming {
    /// Between two turns.
    Steer,
    /// When the agent would end.
    FollowUp,
    /// Now: the running turn is dropped.
    Interrupt,
}
