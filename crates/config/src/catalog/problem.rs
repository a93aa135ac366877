//! What is wrong with a definition, where, and what to do about it.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Something about a definition that a person should know. Nothing is left out of a catalogue without one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionProblem {
    /// The file, or the flag.
    pub file: PathBuf,
    /// The place in it, if there is one.
    pub at: Option<FilePosition>,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FilePosition {
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
}

/// How much a problem matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// The definition is not used.
    Error,
    /// A part of it is not used.
    Warning,
    /// It is not used, since nobody has trusted the project.
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
    pub(crate) fn error(file: &Path, words: impl Into<String>, remedy: impl Into<String>) -> DefinitionProblem {
        DefinitionProblem::new(file, Severity::Error, words.into(), remedy.into())
    }

    pub(crate) fn warning(file: &Path, words: impl Into<String>, remedy: impl Into<String>) -> DefinitionProblem {
        DefinitionProblem::new(file, Severity::Warning, words.into(), remedy.into())
    }

    pub(crate) fn untrusted(file: &Path, words: impl Into<String>) -> DefinitionProblem {
        DefinitionProblem::new(
            file,
            Severity::Untrusted,
            words.into(),
            "look at the project's files, then `bosun trust`".into(),
        )
    }

    /// The same at a place.
    pub(crate) fn at(self, at: Option<FilePosition>) -> DefinitionProblem {
        DefinitionProblem { at: at.or(self.at), ..self }
    }

    fn new(file: &Path, severity: Severity, words: String, remedy: String) -> DefinitionProblem {
        // What a stranger wrote must neither drive a terminal nor fill it.
        let clean = |text: String| text.chars().filter(|c| !c.is_control()).take(MOST_WORDS).collect();
        DefinitionProblem { file: file.to_owned(), at: None, severity, message: clean(words), remedy: clean(remedy) }
    }
}

/// Most characters of what is said about one problem.
const MOST_WORDS: usize = 400;

impl fmt::Display for DefinitionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(FilePosition { line, column }) = self.at {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}; {}", self.message, self.remedy)
    }
}
