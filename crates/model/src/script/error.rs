//! Why a script cannot be used.

use std::io;

use serde_saphyr::{Error as YamlError, MessageFormatter, UserMessageFormatter};

/// Why a script cannot be used. Each names the file.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("cannot read the script {file}: {source}")]
    Read {
        /// The file.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// The file is larger than any script should be.
    #[error("the script {file} is larger than {max} bytes; split it into several scripts")]
    TooLarge {
        /// The file.
        file: String,
        /// Maximum bytes of a script.
        max: usize,
    },
    /// The file is not a script.
    #[error("{file}:{line}:{column}: {message}")]
    Invalid {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The column, from 1.
        column: u64,
        /// What is wrong there, and what would be right.
        message: String,
    },
}

impl ScriptError {
    pub(super) fn invalid(file: &str, error: &YamlError) -> ScriptError {
        let (line, column) = error.location().map_or((1, 1), |at| (at.line(), at.column()));
        ScriptError::Invalid { file: file.into(), line, column, message: printable(&message(error)) }
    }
}

/// The error in terms of YAML rather than Rust.
fn message(error: &YamlError) -> String {
    match error {
        YamlError::AliasError { error, .. } | YamlError::WithSnippet { error, .. } => message(error),
        YamlError::Eof { .. } => "the file is empty; a script starts with `version: 1`".into(),
        YamlError::SerdeUnknownField { field, expected, .. } => unknown_word("key", field, expected),
        YamlError::SerdeUnknownVariant { variant, expected, .. } => unknown_word("value", variant, expected),
        YamlError::SerdeMissingField { field, .. } => format!("the key `{field}` is missing; add it"),
        YamlError::NullIntoString { .. } => "the value is missing; write it, or remove the key".into(),
        YamlError::DuplicateMappingKey { key: Some(key), .. } => format!("duplicate key `{key}`; remove one"),
        YamlError::Budget { .. }
        | YamlError::AliasReplayLimitExceeded { .. }
        | YamlError::AliasExpansionLimitExceeded { .. }
        | YamlError::AliasReplayStackDepthExceeded { .. } => {
            "the file is too deeply nested, or its aliases expand too far; simplify it".into()
        }
        other => UserMessageFormatter.format_message(other).into_owned(),
    }
}

fn unknown_word(what: &str, word: &str, known: &[&str]) -> String {
    format!("unknown {what} `{word}`; known here: {}", known.join(", "))
}

/// Replaces control characters, so that the file cannot control the terminal that shows the error.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}
