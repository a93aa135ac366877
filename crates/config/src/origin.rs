//! Where a setting came from.

use std::fmt;
use std::path::{Path, PathBuf};

use policy::Source;

/// Where a setting came from, strongest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A file of whoever manages the machine.
    Managed(PathBuf),
    /// A flag of its own.
    Flag,
    /// What `--settings` gave; without a file it was the settings themselves.
    Given(Option<PathBuf>),
    /// The session, which keeps what it was begun with.
    Session,
    /// A variable of the environment.
    Variable(&'static str),
    /// The user's file for this project.
    Local(PathBuf),
    /// A file of the project.
    Project(PathBuf),
    /// The user's file.
    User(PathBuf),
    /// Bosun itself.
    BuiltIn,
}

impl Origin {
    /// Its file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Origin::Managed(path) | Origin::Local(path) | Origin::Project(path) | Origin::User(path) => Some(path),
            Origin::Given(path) => path.as_deref(),
            Origin::Flag | Origin::Session | Origin::Variable(_) | Origin::BuiltIn => None,
        }
    }

    /// Where a rule from here comes from.
    pub fn source(&self) -> Source {
        match self {
            Origin::Managed(path) => Source::Managed(path.clone()),
            Origin::Flag | Origin::Given(_) | Origin::Session | Origin::Variable(_) => Source::Flag,
            Origin::Local(path) => Source::Local(path.clone()),
            Origin::Project(path) => Source::Project(path.clone()),
            Origin::User(path) => Source::User(path.clone()),
            Origin::BuiltIn => Source::BuiltIn,
        }
    }

    /// Whether its rules belong to the session from then on.
    pub(crate) fn is_of_session(&self) -> bool {
        matches!(self, Origin::Flag | Origin::Given(_) | Origin::Session)
    }

    /// Whether it counts before any variable of the environment.
    pub(crate) fn is_above_environment(&self) -> bool {
        self.rank() < Origin::Variable("").rank()
    }

    /// How strong it is; less is stronger.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            Origin::Managed(_) => 0,
            Origin::Flag => 1,
            Origin::Given(_) => 2,
            Origin::Session => 3,
            Origin::Variable(_) => 4,
            Origin::Local(_) => 5,
            Origin::Project(_) => 6,
            Origin::User(_) => 7,
            Origin::BuiltIn => 8,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag => f.write_str("the command line"),
            Origin::Given(None) => f.write_str("--settings"),
            Origin::Given(Some(path)) => write!(f, "--settings, {}", path.display()),
            Origin::Session => f.write_str("the session"),
            Origin::Variable(name) => f.write_str(name),
            Origin::Managed(_) | Origin::Local(_) | Origin::Project(_) | Origin::User(_) | Origin::BuiltIn => {
                self.source().fmt(f)
            }
        }
    }
}
