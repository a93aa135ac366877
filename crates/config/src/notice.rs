//! What a person should know about a file of settings.

use std::path::{Path, PathBuf};

/// Something about a file that a person should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsNotice {
    /// The file.
    pub path: PathBuf,
    /// What.
    pub text: String,
    /// How much it matters.
    pub level: NoticeLevel,
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeLevel {
    /// It is told at the start of a run.
    Warning,
    /// It is told to those who ask.
    Info,
}

impl SettingsNotice {
    pub(crate) fn warning(path: &Path, text: String) -> SettingsNotice {
        SettingsNotice { path: path.to_owned(), text, level: NoticeLevel::Warning }
    }

    pub(crate) fn info(path: &Path, text: String) -> SettingsNotice {
        SettingsNotice { path: path.to_owned(), text, level: NoticeLevel::Info }
    }
}
