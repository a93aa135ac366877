//! One thing that was found in the files of another product, and what becomes of it.

use std::path::{Path, PathBuf};

use crate::edit::{Entry, Keys};

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file or folder it stands in.
    pub file: PathBuf,
    /// What it is. Values that may be secret are not shown.
    pub found: String,
    /// What becomes of it.
    pub outcome: Outcome,
}

/// What becomes of something that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is written.
    Becomes(Change),
    /// It would be written, and stands there already.
    Present(Change),
    /// It would be written, and something else stands there, which is kept.
    Kept {
        /// What is not written.
        change: Change,
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
pub struct Change {
    pub(super) into: PathBuf,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// An entry of a file of settings.
    Entry(Keys, Entry),
    /// A copy of a file.
    File(PathBuf),
    /// A copy of a folder.
    Folder(PathBuf),
}

impl Change {
    /// The file or folder that is written.
    pub fn into(&self) -> &Path {
        &self.into
    }

    /// What is written, in the words of the file.
    pub fn text(&self) -> String {
        match &self.what {
            What::Entry(keys, Entry::Listed(text)) => format!("{} {text}", keys.join(".")),
            What::Entry(keys, Entry::Text(text)) => format!("{} = {text}", keys.join(".")),
            What::File(_) => "a copy".into(),
            What::Folder(_) => "a copy of the folder".into(),
        }
    }
}

impl Outcome {
    /// The outcome in one word, as JSON has it.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Becomes(_) => "becomes",
            Outcome::Present(_) => "present",
            Outcome::Kept { .. } => "kept",
            Outcome::InPlace(_) => "inPlace",
            Outcome::NotImported(_) => "notImported",
            Outcome::Invalid(_) => "invalid",
        }
    }

    /// What is or would be written.
    pub fn change(&self) -> Option<&Change> {
        match self {
            Outcome::Becomes(change) | Outcome::Present(change) | Outcome::Kept { change, .. } => Some(change),
            Outcome::InPlace(_) | Outcome::NotImported(_) | Outcome::Invalid(_) => None,
        }
    }
}
