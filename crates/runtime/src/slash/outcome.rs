//! What a slash command led to.

use protocol::Delivery;
use protocol::SessionMode;
use protocol::api::{InvokeResult, SendParams};

use super::Screen;

/// What a slash command led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The text is none, and for the model as it is.
    NotACommand,
    /// It is for the model.
    Prompt(Prompt),
    /// It tells something.
    Told(String),
    /// It did something.
    Done {
        /// What.
        message: String,
        /// The mode that the session is in from now on, if that is another.
        mode: Option<SessionMode>,
    },
    /// It is for the terminal, with what follows its name.
    Screen(Screen, String),
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
pub struct Prompt {
    /// What the model is told.
    pub text: String,
    /// What people are shown in its place.
    pub display: String,
    /// The mode that the session is in from now on, if that is another.
    pub mode: Option<SessionMode>,
}

impl Prompt {
    /// The message that tells it to the root.
    pub fn message(self) -> SendParams {
        let Prompt { text, display, mode: _ } = self;
        let display = Some(display).filter(|display| *display != text);
        SendParams { task: None, text, images: Vec::new(), delivery: Delivery::FollowUp, display }
    }
}

impl Outcome {
    pub(super) fn done(message: impl Into<String>) -> Outcome {
        Outcome::Done { message: message.into(), mode: None }
    }

    /// What a client is answered; in words why nothing happened.
    pub(crate) fn answer(self) -> Result<InvokeResult, String> {
        match self {
            Outcome::Prompt(Prompt { text, display, mode }) => {
                Ok(InvokeResult::AgentPrompt { prompt: text, display_prompt: display, mode })
            }
            Outcome::Told(text) => Ok(InvokeResult::Text { text }),
            Outcome::Done { message, mode } => Ok(InvokeResult::Completed { message, mode }),
            Outcome::NotACommand => Err("it names no command; `commands.list` lists them".into()),
            Outcome::Screen(..) => Err("it is only of use at a terminal".into()),
            Outcome::Refused(why) => Err(why),
            Outcome::Unknown { name, nearest } => Err(unknown(&name, &nearest)),
        }
    }
}

/// What is said to a command that does not exist.
pub(super) fn unknown(name: &str, nearest: &[String]) -> String {
    let name: String = name.chars().take(64).collect();
    match nearest {
        [] => format!("there is no /{name}; /help lists what there is"),
        names => format!("there is no /{name}; did you mean /{}?", names.join(" or /")),
    }
}
