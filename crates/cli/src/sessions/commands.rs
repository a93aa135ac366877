//! Sends commands to a session that another process runs, or queues them for the next process.

use client::{FollowOptions, SessionHandle, SessionMessage};
use host::Home;
use protocol::api::{CommandFate, CommandOutcome, SendParams, SessionCommand};
use protocol::{MailDelivery, SessionId};
use tui::print;

use crate::args::SendTiming;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::fleet;

/// A command that sends a message.
pub(crate) fn message_command(text: String, when: SendTiming) -> Result<SessionCommand, CliError> {
    if text.trim().is_empty() {
        return Err(CliError::usage("the message is empty"));
    }
    let delivery = match when {
        SendTiming::Steer => MailDelivery::Steer,
        SendTiming::FollowUp => MailDelivery::FollowUp,
        SendTiming::Interrupt => MailDelivery::Interrupt,
    };
    Ok(SessionCommand::Send(SendParams { task: None, text, images: Vec::new(), delivery, display: None }))
}

/// Delivers a command to the process that runs the session; without one, a message waits for the next process.
pub(crate) async fn send_command(home: &Home, id: SessionId, command: SessionCommand) -> Result<CommandExit, CliError> {
    match give_command(home, id, &command).await? {
        DeliveredCommand::Applied => print::note("delivered"),
        DeliveredCommand::Queued => {
            let command = fleet::resume_command(home, id);
            print::note(format_args!("queued, since the session is not running; resume with: {command}"));
        }
        DeliveredCommand::NothingToDo => print::note("the session is not running"),
    }
    Ok(CommandExit::Success)
}

/// What became of a command that was not refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeliveredCommand {
    /// The process that runs the session carried it out.
    Applied,
    /// The next process carries it out first.
    Queued,
    /// It would have changed nothing.
    NothingToDo,
}

/// Delivers a command; a refusal is an error.
pub(crate) async fn give_command(
    home: &Home,
    id: SessionId,
    command: &SessionCommand,
) -> Result<DeliveredCommand, CliError> {
    Ok(match SessionHandle::new(home, id).give(command).await? {
        CommandFate::Answered { outcome: CommandOutcome::Applied { .. } } => DeliveredCommand::Applied,
        CommandFate::Answered { outcome: CommandOutcome::Refused { message, .. } } => {
            return Err(CliError::usage(print::sanitize(&message)));
        }
        CommandFate::Queued => DeliveredCommand::Queued,
        CommandFate::NothingToDo => DeliveredCommand::NothingToDo,
    })
}

/// Prints events as they are committed. Ends when no process runs the session, or when stdout is closed.
pub(super) async fn watch(home: &Home, id: SessionId, after: u64) -> Result<CommandExit, CliError> {
    let mut events = SessionHandle::new(home, id).follow(after, FollowOptions::default());
    while let Some(message) = events.next().await? {
        if let SessionMessage::Event(event) = message {
            print::json(&*event);
            if print::is_stdout_closed() {
                break;
            }
        }
    }
    Ok(CommandExit::Success)
}
