//! The outcome of a slash command.

use protocol::api::{InvokeSlashResult, SendParams};
use protocol::{Hinted, MailDelivery, Refusal, SessionMode, TerminalCommand};

use super::error::SlashError;

/// The outcome of a slash command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlashOutcome {
    /// The text is not a command; the model gets it unchanged.
    NotACommand,
    /// It is a prompt for the model.
    Prompt(SlashPrompt),
    /// It shows this text.
    Text(String),
    /// It performed an action.
    Done {
        /// What it did.
        message: String,
        /// The new mode of the session, if it has changed.
        mode: Option<SessionMode>,
    },
    /// It started a fleet, which works until its todos are done; this is shown to the user.
    FleetStarted(String),
    /// It is for the terminal, with these arguments.
    Terminal(TerminalCommand, String),
    /// It cannot be run; nothing happened.
    Refused(Refusal),
    /// There is no such command; nothing happened.
    Unknown {
        /// The name as typed.
        name: String,
        /// Similar names.
        nearest: Vec<String>,
    },
}

/// The prompt of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashPrompt {
    /// The text for the model.
    pub text: String,
    /// The text shown to the user instead.
    pub display: String,
    /// The new mode of the session, if it has changed.
    pub mode: Option<SessionMode>,
}

impl SlashPrompt {
    /// The message that sends it to the root.
    pub fn message(self) -> SendParams {
        let SlashPrompt { text, display, mode: _ } = self;
        let display = Some(display).filter(|display| *display != text);
        SendParams { task: None, text, images: Vec::new(), delivery: MailDelivery::FollowUp, display }
    }
}

impl SlashOutcome {
    pub(super) fn done(message: impl Into<String>) -> SlashOutcome {
        SlashOutcome::Done { message: message.into(), mode: None }
    }

    /// The answer to a client, or why nothing happened.
    pub(crate) fn answer(self) -> Result<InvokeSlashResult, Refusal> {
        match self {
            SlashOutcome::Prompt(SlashPrompt { text, display, mode }) => {
                Ok(InvokeSlashResult::AgentPrompt { prompt: text, display_prompt: display, mode })
            }
            SlashOutcome::Text(text) => Ok(InvokeSlashResult::Text { text }),
            SlashOutcome::Done { message, mode } => Ok(InvokeSlashResult::Completed { message, mode }),
            SlashOutcome::FleetStarted(message) => Ok(InvokeSlashResult::FleetStarted { message }),
            SlashOutcome::NotACommand => {
                Err(Refusal::new("it is not a command").with_hint("`commands.list` lists them"))
            }
            SlashOutcome::Terminal(..) => Err(SlashError::TerminalOnly.refusal()),
            SlashOutcome::Refused(why) => Err(why),
            SlashOutcome::Unknown { name, nearest } => Err(unknown_command(&name, &nearest)),
        }
    }
}

/// The error for an unknown command.
pub(super) fn unknown_command(name: &str, nearest: &[String]) -> Refusal {
    let name: String = name.chars().take(64).collect();
    let refusal = Refusal::new(format_args!("there is no /{name}"));
    match nearest {
        [] => refusal.with_hint("/help lists all commands"),
        names => refusal.with_hint(format_args!("did you mean /{}?", names.join(" or /"))),
    }
}
