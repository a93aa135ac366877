//! Notices about settings files.

use std::path::{Path, PathBuf};

/// A notice about a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsNotice {
    /// The file.
    pub path: PathBuf,
    /// The message.
    pub text: String,
    /// Its level.
    pub level: NoticeLevel,
}

/// The level of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeLevel {
    /// Shown at the start of a run.
    Warning,
    /// Shown on request.
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
