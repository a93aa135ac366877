//! An item found in the files of another product, and its outcome.

use std::path::{Path, PathBuf};

use crate::edit::{KeyPath, SettingsEntry};

/// An item found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportFinding {
    /// The file or folder it is in.
    pub file: PathBuf,
    /// Its description, without values that may be secret.
    pub subject: String,
    /// Its outcome.
    pub outcome: ImportOutcome,
}

/// The outcome for an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportOutcome {
    /// It is written.
    Written(ImportChange),
    /// It is already there.
    AlreadyPresent(ImportChange),
    /// Another value is there, which is kept.
    Conflicting {
        /// The change that is not made.
        change: ImportChange,
        /// The existing value.
        kept: String,
    },
    /// Bosun reads it in place; with the condition, if any.
    InPlace(String),
    /// It is not imported; with the reason and remedy.
    NotImported(String),
    /// It cannot be read; with the position and remedy.
    Invalid(String),
}

/// A change to Bosun's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportChange {
    pub(super) into: PathBuf,
    pub(super) content: ImportContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ImportContent {
    /// An entry in a settings file.
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

    /// Describes what is written, as in the file.
    pub fn text(&self) -> String {
        match &self.content {
            ImportContent::Entry(keys, SettingsEntry::Listed(text)) => format!("{} {text}", keys.join(".")),
            ImportContent::Entry(keys, SettingsEntry::Text(text)) => format!("{} = {text}", keys.join(".")),
            ImportContent::File(_) => "a copy".into(),
            ImportContent::Folder(_) => "a copy of the folder".into(),
        }
    }
}

impl ImportOutcome {
    /// The outcome's name in JSON.
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

    /// The change that is or would be made.
    pub fn change(&self) -> Option<&ImportChange> {
        match self {
            ImportOutcome::Written(change)
            | ImportOutcome::AlreadyPresent(change)
            | ImportOutcome::Conflicting { change, .. } => Some(change),
            ImportOutcome::InPlace(_) | ImportOutcome::NotImported(_) | ImportOutcome::Invalid(_) => None,
        }
    }
}
