//! What a person should know about a file of settings.

use std::path::{Path, PathBuf};

/// Something about a file that a person should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The file.
    pub path: PathBuf,
    /// What.
    pub text: String,
    /// How much it matters.
    pub weight: Weight,
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// It is told at the start of a run.
    Warning,
    /// It is told to those who ask.
    Remark,
}

impl Notice {
    pub(crate) fn warning(path: &Path, text: String) -> Notice {
        Notice { path: path.to_owned(), text, weight: Weight::Warning }
    }

    pub(crate) fn remark(path: &Path, text: String) -> Notice {
        Notice { path: path.to_owned(), text, weight: Weight::Remark }
    }
}
