//! One rule: which calls it matches, what it says of them, and where it came from.

use std::fmt;
use std::path::PathBuf;

use protocol::RuleEffect;

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// What it says of the calls it matches.
    pub effect: RuleEffect,
    /// The rule as it was written, such as `shell(git *)`.
    pub text: String,
    /// Where it came from.
    pub source: Source,
}

/// Where a rule came from, strongest first. Of two that decide alike, the stronger one is named.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// Bosun itself.
    BuiltIn,
    /// The file of whoever manages the machine.
    Managed(PathBuf),
    /// The command line, or a file that it named.
    Flag,
    /// A person, while the session ran.
    Session,
    /// The user's file for this project.
    Local(PathBuf),
    /// A file of the project.
    Project(PathBuf),
    /// The user's file.
    User(PathBuf),
}

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no rule: {problem}; a rule is a tool, alone or with a pattern, such as shell(git *) or edit(src/**)"
)]
pub struct RuleError {
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub problem: String,
}

impl Rule {
    /// Reads a rule.
    pub fn parse(effect: RuleEffect, text: &str, source: Source) -> Result<Rule, RuleError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(RuleError { text: text.into(), problem: "it is empty".into() });
        }
        Ok(Rule { effect, text: text.into(), source })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::BuiltIn => f.write_str("built in"),
            Source::Managed(path) => write!(f, "managed policy, {}", path.display()),
            Source::Flag => f.write_str("the command line"),
            Source::Session => f.write_str("granted while the session ran"),
            Source::Local(path) => write!(f, "your settings for this project, {}", path.display()),
            Source::Project(path) => write!(f, "the project's settings, {}", path.display()),
            Source::User(path) => write!(f, "your settings, {}", path.display()),
        }
    }
}
