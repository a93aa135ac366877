//! One thing that was found in the files of another product, and what becomes of it.

use std::path::{Path, PathBuf};

use crate::edit::{KeyPath, SettingsEntry};

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportFinding {
    /// The file or folder it stands in.
    pub file: PathBuf,
    /// What it is. Values that may be secret are not shown.
    pub subject: String,
    /// What becomes of it.
    pub outcome: ImportOutcome,
}

/// What becomes of something that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportOutcome {
    /// It is written.
    Written(ImportChange),
    /// It would be written, and stands there already.
    AlreadyPresent(ImportChange),
    /// It would be written, and something else stands there, which is kept.
    Conflicting {
        /// What is not written.
        change: ImportChange,
        /// What stands there.
        kept: String,
    },
    /// Bosun reads it where it is; when, if not always.
    InPlace(String),
    /// It is not imported; why, and what to do.
    NotImported(String),
    /// It cannot be read; where, and what to do.
    Invalid(String),
}

/// Something that can be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportChange {
    pub(super) into: PathBuf,
    pub(super) what: ImportContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ImportContent {
    /// An entry of a file of settings.
    Entry(KeyPath, SettingsEntry),
    /// A copy of a file.
    File(PathBuf),
    /// A copy of a folder.
    Folder(PathBuf),
}

impl ImportChange {
    /// The file or folder that is written.
    pub fn into(&self) -> &Path {
        &self.into
    }

    /// What is written, in the words of the file.
    pub fn text(&self) -> String {
        match &self.what {
            ImportContent::Entry(keys, SettingsEntry::Listed(text)) => format!("{} {text}", keys.join(".")),
            ImportContent::Entry(keys, SettingsEntry::Text(text)) => format!("{} = {text}", keys.join(".")),
            ImportContent::File(_) => "a copy".into(),
            ImportContent::Folder(_) => "a copy of the folder".into(),
        }
    }
}

impl ImportOutcome {
    /// The outcome in one word, as JSON has it.
    pub fn as_str(&self) -> &'static str {
        match self {
            ImportOutcome::Written(_) => "becomes",
            ImportOutcome::AlreadyPresent(_) => "present",
            ImportOutcome::Conflicting { .. } => "kept",
            ImportOutcome::InPlace(_) => "inPlace",
            ImportOutcome::NotImported(_) => "notImported",
            ImportOutcome::Invalid(_) => "invalid",
        }
    }

    /// What is or would be written.
    pub fn change(&self) -> Option<&ImportChange> {
        match self {
            ImportOutcome::Written(change)
            | ImportOutcome::AlreadyPresent(change)
            | ImportOutcome::Conflicting { change, .. } => Some(change),
            ImportOutcome::InPlace(_) | ImportOutcome::NotImported(_) | ImportOutcome::Invalid(_) => None,
        }
    }
}
