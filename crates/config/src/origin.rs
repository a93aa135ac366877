//! Origins of settings.

use std::fmt;
use std::path::{Path, PathBuf};

use policy::RuleSource;

/// The origin of a setting, strongest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingOrigin {
    /// A managed file.
    Managed(PathBuf),
    /// A dedicated flag.
    Flag,
    /// `--settings`, with the file if it named one rather than the settings themselves.
    SettingsFlag(Option<PathBuf>),
    /// The session, which keeps the settings it started with.
    Session,
    /// An environment variable.
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
    /// Its file, if it has one.
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

    /// The source of its rules.
    pub fn rule_source(&self) -> RuleSource {
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

    /// Whether its rules are stored with the session.
    pub(crate) fn is_stored_with_session(&self) -> bool {
        matches!(self, SettingOrigin::Flag | SettingOrigin::SettingsFlag(_) | SettingOrigin::Session)
    }

    /// Whether it is stronger than environment variables.
    pub(crate) fn is_above_environment(&self) -> bool {
        self.rank() < SettingOrigin::Variable("").rank()
    }

    /// Its rank; lower is stronger.
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
            | SettingOrigin::BuiltIn => self.rule_source().fmt(f),
        }
    }
}
