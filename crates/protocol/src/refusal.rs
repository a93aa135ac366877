//! Why something was refused, for people and models.

use std::error::Error;
use std::fmt;

/// Why something was refused: what is wrong, and what to do about it. Texts may quote untrusted input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Refusal {
    /// A refusal without a hint.
    pub fn new(message: impl fmt::Display) -> Refusal {
        Refusal { message: message.to_string(), hint: None }
    }

    /// Adds what to do about it.
    pub fn with_hint(self, hint: impl fmt::Display) -> Refusal {
        Refusal { hint: Some(hint.to_string()), ..self }
    }

    /// The message and the hint in one line, for a model and for programs, which have no line for a hint.
    pub fn in_one_line(self) -> String {
        match self.hint {
            Some(hint) => format!("{}; {hint}", self.message),
            None => self.message,
        }
    }
}

/// An error that may say what to do about it. Its own text only says what is wrong.
pub trait Hinted: fmt::Display {
    /// What to do about it, if there is something.
    fn hint(&self) -> Option<String>;

    /// The message and the hint, for an edge that shows the hint on a line of its own.
    fn refusal(&self) -> Refusal {
        Refusal { message: self.to_string(), hint: self.hint() }
    }

    /// The message and the hint in one line.
    fn in_one_line(&self) -> String {
        self.refusal().in_one_line()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, " ({hint})"))
    }
}

impl Error for Refusal {}
