//! Runs a line that may be a slash command, for conversations and for single prompts.

use client::{ClientError, SessionHandle};
use protocol::api::{InvokeSlashResult, calls};
use protocol::{Refusal, TerminalCommand};

use super::owner::{SlashCommands, SlashInput};
use super::session_call::{CallFailure, call_session};

/// What became of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlashReply {
    /// It is not a command; the model gets it unchanged.
    NotACommand,
    /// It is for the terminal, with these arguments.
    Terminal(TerminalCommand, String),
    /// There is no such command; nothing happened.
    Unknown(Refusal),
    /// It cannot be run; nothing happened.
    Refused(Refusal),
    /// The session ran it. The caller must send a prompt that results from it.
    Answered(InvokeSlashResult),
}

/// Runs a line if it is a slash command of the session.
pub async fn run_slash_line(
    session: &SessionHandle,
    commands: &dyn SlashCommands,
    line: &str,
) -> Result<SlashReply, ClientError> {
    Ok(match commands.look_up(line.trim()) {
        SlashInput::NotACommand => SlashReply::NotACommand,
        SlashInput::Terminal(command, arguments) => SlashReply::Terminal(command, arguments),
        SlashInput::Unknown(refusal) => SlashReply::Unknown(refusal),
        SlashInput::Refused(refusal) => SlashReply::Refused(refusal),
        SlashInput::Session(command) => match call_session::<calls::CommandsInvoke>(session, &command).await {
            Ok(result) => SlashReply::Answered(result),
            Err(CallFailure::Refused(refusal)) => SlashReply::Refused(refusal),
            Err(CallFailure::Fatal(error)) => return Err(error),
        },
    })
}
