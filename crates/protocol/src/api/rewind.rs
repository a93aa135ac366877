//! Going back to an earlier message of the user, in the conversation, in the files that tools changed, or in both.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// The messages of the user that a session can go back to, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RewindPoints {
    /// The messages.
    pub points: Vec<RewindPoint>,
}

/// A message of the user that a session can go back to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RewindPoint {
    /// The number of the last event before it.
    pub after: u64,
    /// When the root read it.
    pub at: Timestamp,
    /// Its text, clipped.
    pub text: String,
    /// Whether the conversation can be cut before it: it was not compacted.
    pub cuts_conversation: bool,
    /// How many files tools changed since.
    pub files: u64,
    /// How many of them can be restored.
    pub restorable: u64,
    /// How many files tools changed until the next message.
    pub turn_files: u64,
    /// The lines that these changes added.
    pub lines_added: u64,
    /// The lines that these changes removed.
    pub lines_removed: u64,
}

/// Names the place to go back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RewindPreviewParams {
    /// The number of the last event that still counts.
    pub after: u64,
}

/// What going back would do to files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RewindPreview {
    /// The files that tools changed since, by path.
    pub files: Vec<FileRewind>,
}

/// What going back would do to one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileRewind {
    /// Its path.
    pub path: String,
    /// What tools did to it since.
    pub change: FileChangeKind,
    /// The lines that tools added since.
    pub lines_added: u64,
    /// The lines that tools removed since.
    pub lines_removed: u64,
    /// Why it would be left as it is; it would be restored when absent.
    pub obstacle: Option<RestoreObstacle>,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FileChangeKind {
    /// It was created.
    Created,
    /// It was removed.
    Removed,
    /// Its content changed.
    Changed,
}

/// Why a file is not restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RestoreObstacle {
    /// It is not as a tool left it: somebody else has changed it since.
    ChangedSince,
    /// Its earlier content was not kept: it was too large, contained a secret, or was removed by `bosun gc`.
    NotKept,
    /// A rule forbids changing it.
    Forbidden,
    /// Its path leads elsewhere by now, or it cannot be written.
    Unreachable,
}

impl RestoreObstacle {
    /// The reason for people.
    pub fn as_str(self) -> &'static str {
        match self {
            RestoreObstacle::ChangedSince => "it has changed since",
            RestoreObstacle::NotKept => "its earlier content was not kept",
            RestoreObstacle::Forbidden => "a rule forbids changing it",
            RestoreObstacle::Unreachable => "it cannot be written",
        }
    }
}

/// Goes back to an earlier place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RewindParams {
    /// The number of the last event that still counts. If the conversation goes back, the next event must have delivered
    /// mail to the root.
    pub after: u64,
    /// What goes back.
    pub scope: RewindScope,
}

/// What goes back to an earlier place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RewindScope {
    /// The conversation; files stay as they are.
    Conversation,
    /// Files; the conversation stays as it is.
    Files,
    /// Both.
    Everything,
}

/// What going back did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RewindResult {
    /// The paths of restored files.
    pub restored: Vec<String>,
    /// The files that stay as they are.
    pub skipped: Vec<SkippedFile>,
}

/// A file that was not restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedFile {
    /// Its path.
    pub path: String,
    /// Why.
    pub obstacle: RestoreObstacle,
}
