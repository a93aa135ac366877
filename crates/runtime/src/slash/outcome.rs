//! What a slash command led to.

use protocol::MailDelivery;
use protocol::SessionMode;
use protocol::api::{InvokeSlashResult, SendParams};

use super::TerminalCommand;

/// What a slash command led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlashOutcome {
    /// The text is none, and for the model as it is.
    NotACommand,
    /// It is for the model.
    Prompt(SlashPrompt),
    /// It tells something.
    Text(String),
    /// It did something.
    Done {
        /// What.
        message: String,
        /// The mode that the session is in from now on, if that is another.
        mode: Option<SessionMode>,
    },
    /// It is for the terminal, with what follows its name.
    Terminal(TerminalCommand, String),
    /// It cannot be run; nothing happened.
    Refused(String),
    /// There is no such command; nothing happened.
    Unknown {
        /// What was typed.
        name: String,
        /// What may have been meant.
        nearest: Vec<String>,
    },
}

/// What a command tells the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashPrompt {
    /// What the model is told.
    pub text: String,
    /// What people are shown in its place.
    pub display: String,
    /// The mode that the session is in from now on, if that is another.
    pub mode: Option<SessionMode>,
}

impl SlashPrompt {
    /// The message that tells it to the root.
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

    /// What a client is answered; in words why nothing happened.
    pub(crate) fn answer(self) -> Result<InvokeSlashResult, String> {
        match self {
            SlashOutcome::Prompt(SlashPrompt { text, display, mode }) => {
                Ok(InvokeSlashResult::AgentPrompt { prompt: text, display_prompt: display, mode })
            }
            SlashOutcome::Text(text) => Ok(InvokeSlashResult::Text { text }),
            SlashOutcome::Done { message, mode } => Ok(InvokeSlashResult::Completed { message, mode }),
            SlashOutcome::NotACommand => Err("it names no command; `commands.list` lists them".into()),
            SlashOutcome::Terminal(..) => Err("it is only of use at a terminal".into()),
            SlashOutcome::Refused(why) => Err(why),
            SlashOutcome::Unknown { name, nearest } => Err(unknown_command(&name, &nearest)),
        }
    }
}

/// What is said to a command that does not exist.
pub(super) fn unknown_command(name: &str, nearest: &[String]) -> String {
    let name: String = name.chars().take(64).collect();
    match nearest {
        [] => format!("there is no /{name}; /help lists what there is"),
        names => format!("there is no /{name}; did you mean /{}?", names.join(" or /")),
    }
}
