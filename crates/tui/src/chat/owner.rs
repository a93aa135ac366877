//! What only the process around a conversation can do: it opens and owns sessions, and keeps the user's settings.

use std::fmt;
use std::path::{Path, PathBuf};

use client::{ClientError, StoreError};
use protocol::api::InvokeSlashParams;
use protocol::{PermissionMode, Refusal, SessionId, TerminalCommand};

use super::open_conversation::OpenConversation;
use crate::terminal_settings::TerminalError;

/// Why a conversation cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    /// The session's file cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session does not answer.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The terminal cannot be used.
    #[error(transparent)]
    Terminal(#[from] TerminalError),
}

/// Keeps the rules with which the user allows calls for good.
pub trait AllowRules {
    /// Saves a rule for the project of a folder; returns the file.
    fn save_allow_rule(&self, folder: &Path, rule: &str) -> Result<PathBuf, String>;
}

/// The session that the user wants to continue with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChoice {
    /// The same one, in another permission mode.
    Mode(PermissionMode),
    /// The one whose id begins with this.
    Other(String),
    /// A new one.
    New,
}

/// Opens and owns the sessions of conversations.
pub trait ConversationOwner: AllowRules {
    /// A session that is ready to open: its settings are valid.
    type Prepared: fmt::Debug;
    /// An open session that this process runs.
    type Running;
    /// Why it failed.
    type Error: fmt::Display + From<ConversationError>;

    /// Prepares the session that the user has chosen; the current one continues if this fails.
    fn prepare(&self, current: &OpenConversation, choice: SessionChoice) -> Result<Self::Prepared, Self::Error>;

    /// The session that is resumed.
    fn resumed_session(&self, prepared: &Self::Prepared) -> Option<SessionId>;

    /// Opens a session. Interrupted work stays interrupted.
    fn open(
        &self,
        prepared: Self::Prepared,
    ) -> impl Future<Output = Result<(Self::Running, OpenConversation), Self::Error>>;

    /// Resumes interrupted work, if the session was resumed.
    fn resume_work(&self, running: &Self::Running) -> impl Future<Output = Result<(), Self::Error>>;

    /// Leaves a session, so that its next owner can resume it.
    fn leave(&self, running: Self::Running) -> impl Future<Output = Result<(), Self::Error>>;
}

/// The slash commands of a session.
pub trait SlashCommands: fmt::Debug {
    /// What a line means.
    fn look_up(&self, line: &str) -> SlashInput;

    /// The names of the commands that a typed text begins.
    fn completions(&self, typed: &str) -> Vec<String>;
}

/// What a line means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlashInput {
    /// It is not a command; the model gets it unchanged.
    NotACommand,
    /// There is no such command.
    Unknown(Refusal),
    /// It cannot be run, for this reason.
    Refused(Refusal),
    /// It is for the terminal, with these arguments.
    Terminal(TerminalCommand, String),
    /// It is for the session.
    Session(InvokeSlashParams),
}
