//! Problems in definitions, with their position and remedy.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// A problem in a definition. Every definition left out of the catalogue has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionProblem {
    /// The file, or the flag.
    pub file: PathBuf,
    /// The position in the file, if known.
    pub at: Option<FilePosition>,
    /// Its severity.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

/// A position in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FilePosition {
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
}

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// The definition is not used.
    Error,
    /// A part of it is not used.
    Warning,
    /// It is not used, since the user has not trusted the project.
    Untrusted,
}

impl Severity {
    /// The severity in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Untrusted => "ignored",
        }
    }
}

impl DefinitionProblem {
    pub(crate) fn error(file: &Path, message: impl Into<String>, remedy: impl Into<String>) -> DefinitionProblem {
        DefinitionProblem::new(file, Severity::Error, message.into(), remedy.into())
    }

    pub(crate) fn warning(file: &Path, message: impl Into<String>, remedy: impl Into<String>) -> DefinitionProblem {
        DefinitionProblem::new(file, Severity::Warning, message.into(), remedy.into())
    }

    pub(crate) fn untrusted(file: &Path, message: impl Into<String>) -> DefinitionProblem {
        DefinitionProblem::new(
            file,
            Severity::Untrusted,
            message.into(),
            "review the project's files, then run `bosun trust`".into(),
        )
    }

    /// Sets the position, if one is given.
    pub(crate) fn at(self, at: Option<FilePosition>) -> DefinitionProblem {
        DefinitionProblem { at: at.or(self.at), ..self }
    }

    fn new(file: &Path, severity: Severity, message: String, remedy: String) -> DefinitionProblem {
        // Untrusted text must neither control the terminal nor fill it.
        let clean = |text: String| text.chars().filter(|c| !c.is_control()).take(MAX_MESSAGE_LENGTH).collect();
        DefinitionProblem { file: file.to_owned(), at: None, severity, message: clean(message), remedy: clean(remedy) }
    }
}

/// Maximum length of a problem's message or remedy, in characters.
const MAX_MESSAGE_LENGTH: usize = 400;

impl fmt::Display for DefinitionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(FilePosition { line, column }) = self.at {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}; {}", self.message, self.remedy)
    }
}
