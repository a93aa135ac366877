//! The id of a commit.

use std::ffi::OsStr;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Maximum characters of the first line of a message.
const MAX_SUBJECT_CHARS: usize = 72;

/// A title as the subject of a commit message: its first line, clipped.
pub fn subject(title: &str) -> String {
    let line = title.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let plain: String = line.chars().filter(|c| !c.is_control()).collect();
    match plain.chars().count() {
        0..=MAX_SUBJECT_CHARS => plain,
        _ => plain.chars().take(MAX_SUBJECT_CHARS - 1).chain(['…']).collect(),
    }
}

/// The full id of a commit, which cannot be mistaken for an option of a command.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Commit(String);

impl Commit {
    /// The commit of this id, if it is a full one.
    pub fn new(name: &str) -> Option<Commit> {
        let is_full = matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_full.then(|| Commit(name.to_ascii_lowercase()))
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<OsStr> for Commit {
    fn as_ref(&self) -> &OsStr {
        self.0.as_ref()
    }
}

impl From<Commit> for String {
    fn from(commit: Commit) -> String {
        commit.0
    }
}

impl TryFrom<String> for Commit {
    type Error = String;

    fn try_from(name: String) -> Result<Commit, String> {
        Commit::new(&name).ok_or_else(|| format!("`{name}` is not a full commit id"))
    }
}
