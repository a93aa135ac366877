//! Problems in hook files.

use std::fmt;

/// A position in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextPosition {
    /// The line, from 1.
    pub line: usize,
    /// The character in it, from 1.
    pub column: usize,
}

/// A problem in a hook file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookProblem {
    /// The file.
    pub file: String,
    /// The position, if known.
    pub position: Option<TextPosition>,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    pub remedy: String,
}

impl fmt::Display for HookProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(TextPosition { line, column }) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}; {}", self.message, self.remedy)
    }
}
