//! Where a setting came from.

use std::fmt;
use std::path::{Path, PathBuf};

use policy::RuleSource;

/// Where a setting came from, strongest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingOrigin {
    /// A file of whoever manages the machine.
    Managed(PathBuf),
    /// A flag of its own.
    Flag,
    /// What `--settings` gave; without a file it was the settings themselves.
    SettingsFlag(Option<PathBuf>),
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

impl SettingOrigin {
    /// Its file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            SettingOrigin::Managed(path)
            | SettingOrigin::Local(path)
            | SettingOrigin::Project(path)
            | SettingOrigin::User(path) => Some(path),
            SettingOrigin::SettingsFlag(path) => path.as_deref(),
            SettingOrigin::Flag | SettingOrigin::Session | SettingOrigin::Variable(_) | SettingOrigin::BuiltIn => None,
        }
    }

    /// Where a rule from here comes from.
    pub fn source(&self) -> RuleSource {
        match self {
            SettingOrigin::Managed(path) => RuleSource::Managed(path.clone()),
            SettingOrigin::Flag
            | SettingOrigin::SettingsFlag(_)
            | SettingOrigin::Session
            | SettingOrigin::Variable(_) => RuleSource::Flag,
            SettingOrigin::Local(path) => RuleSource::Local(path.clone()),
            SettingOrigin::Project(path) => RuleSource::Project(path.clone()),
            SettingOrigin::User(path) => RuleSource::User(path.clone()),
            SettingOrigin::BuiltIn => RuleSource::BuiltIn,
        }
    }

    /// Whether its rules belong to the session from then on.
    pub(crate) fn is_of_session(&self) -> bool {
        matches!(self, SettingOrigin::Flag | SettingOrigin::SettingsFlag(_) | SettingOrigin::Session)
    }

    /// Whether it counts before any variable of the environment.
    pub(crate) fn is_above_environment(&self) -> bool {
        self.rank() < SettingOrigin::Variable("").rank()
    }

    /// How strong it is; less is stronger.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            SettingOrigin::Managed(_) => 0,
            SettingOrigin::Flag => 1,
            SettingOrigin::SettingsFlag(_) => 2,
            SettingOrigin::Session => 3,
            SettingOrigin::Variable(_) => 4,
            SettingOrigin::Local(_) => 5,
            SettingOrigin::Project(_) => 6,
            SettingOrigin::User(_) => 7,
            SettingOrigin::BuiltIn => 8,
        }
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingOrigin::Flag => f.write_str("the command line"),
            SettingOrigin::SettingsFlag(None) => f.write_str("--settings"),
            SettingOrigin::SettingsFlag(Some(path)) => write!(f, "--settings, {}", path.display()),
            SettingOrigin::Session => f.write_str("the session"),
            SettingOrigin::Variable(name) => f.write_str(name),
            SettingOrigin::Managed(_)
            | SettingOrigin::Local(_)
            | SettingOrigin::Project(_)
            | SettingOrigin::User(_)
            | SettingOrigin::BuiltIn => self.source().fmt(f),
        }
    }
}
