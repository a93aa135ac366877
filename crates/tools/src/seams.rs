//! What tools need from above: small traits that the runtime implements.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use protocol::Clip;

use crate::{BoxFuture, ToolError};

/// The SQL tables a model may use.
pub trait SqlSpace: Send + Sync + fmt::Debug {
    /// Runs the statements and gives their rows as text.
    fn execute(&self, sql: String) -> BoxFuture<'_, Result<String, ToolError>>;
}

/// Commands that outlive the call that started them.
pub trait Background: Send + Sync + fmt::Debug {
    /// Starts a command and gives the name it goes by.
    fn start(&self, command: BackgroundCommand) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Tells how a command is doing, at once or when it ends within the given time.
    fn read(&self, name: String, wait: Wait) -> BoxFuture<'_, Result<BackgroundRead, ToolError>>;

    /// Stops a command with everything it started.
    fn stop(&self, name: String) -> BoxFuture<'_, Result<BackgroundRead, ToolError>>;

    /// Lists the commands, oldest first.
    fn list(&self) -> BoxFuture<'_, Result<Vec<BackgroundRow>, ToolError>>;
}

/// A command to run in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundCommand {
    /// The shell command.
    pub command: String,
    /// One line on what it is for.
    pub description: String,
}

/// How long a reader waits for a command's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    No,
    /// At most this long.
    For(Duration),
}

/// How a background command is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundRead {
    /// Its state, such as `running` or `exited with code 1`.
    pub state: String,
    /// What it printed: the head and the tail.
    pub output: Clip,
}

/// One background command in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundRow {
    /// The name it goes by.
    pub name: String,
    /// Its state.
    pub state: String,
    /// What it is for.
    pub description: String,
}

/// Where an agent says what it is doing.
pub trait Intent: Send + Sync + fmt::Debug {
    /// Takes one line.
    fn report(&self, text: Clip) -> BoxFuture<'_, Result<(), ToolError>>;
}

/// What a call may open. It is asked at the moment of opening, with the path that then leads there, so that a link
/// made after the call was permitted leads nowhere.
pub trait Reach: Send + Sync + fmt::Debug {
    /// Refuses what the call was not permitted; the path is absolute and without links.
    fn check(&self, path: &Path, how: Use) -> Result<(), ToolError>;
}

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// To be read.
    Read,
    /// To be made, changed or removed.
    Edit,
}

/// Asks a person.
pub trait Asker: Send + Sync + fmt::Debug {
    /// Asks, and waits for the answer. None when nobody answers.
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Option<String>, ToolError>>;
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The question.
    pub question: String,
    /// Answers to choose from; any words when empty.
    pub choices: Vec<String>,
}
