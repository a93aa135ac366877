//! Why something was refused, for people.

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
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, " ({hint})"))
    }
}

impl Error for Refusal {}
