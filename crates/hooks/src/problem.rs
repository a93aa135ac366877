//! What is wrong in a file of hooks.

use std::fmt;

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextPosition {
    /// The line, from 1.
    pub line: usize,
    /// The character in it, from 1.
    pub column: usize,
}

/// Something in a file that is not used as it stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookProblem {
    /// The file.
    pub file: String,
    /// Where in it, if that is known.
    pub at: Option<TextPosition>,
    /// What is wrong.
    pub message: String,
    /// What a person can do about it.
    pub remedy: String,
}

impl fmt::Display for HookProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(TextPosition { line, column }) = self.at {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}; {}", self.message, self.remedy)
    }
}
