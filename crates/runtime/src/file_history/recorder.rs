//! Records what tools change in files.

use std::io;
use std::path::Path;
use std::sync::Arc;

use host::Clock;
use store::file_history::{ChangeAuthor, FileHistory, RecordedChange, RecordedContent};
use tools::{CallIdentity, FileChange, FileChangeRecorder, FileState};

use crate::redact::Redactor;
use crate::session_context::SessionFacts;

/// Records the changes of a session's files. A content with a secret is recorded without a copy of it.
#[derive(Debug)]
pub(crate) struct FileRecorder {
    history: FileHistory,
    redactor: Redactor,
    clock: Arc<dyn Clock>,
}

impl FileRecorder {
    pub(crate) fn new(facts: &SessionFacts, redactor: Redactor) -> FileRecorder {
        let history = FileHistory::of(&facts.home, facts.session);
        FileRecorder { history, redactor, clock: Arc::clone(&facts.clock) }
    }

    pub(super) fn history(&self) -> &FileHistory {
        &self.history
    }

    /// Records a change. Without a record it cannot be taken back, but it is made.
    pub(super) fn record_by(&self, by: ChangeAuthor, path: &Path, change: FileChange<'_>) {
        let recorded = self.keep(change.before).and_then(|()| {
            self.history.record(&RecordedChange {
                by,
                at: self.clock.now(),
                path: path.to_owned(),
                before: content_of(change.before),
                after: content_of(change.after),
            })
        });
        if let Err(error) = recorded {
            tracing::warn!(path = %path.display(), %error, "a change of a file is not recorded, and cannot be taken back");
        }
    }

    fn keep(&self, state: FileState<'_>) -> io::Result<()> {
        match state {
            FileState::File { bytes, .. } if !self.redactor.finds_secret(bytes) => self.history.keep(bytes),
            FileState::File { .. } | FileState::Missing | FileState::Unread => Ok(()),
        }
    }
}

impl FileChangeRecorder for FileRecorder {
    fn record(&self, call: &CallIdentity, path: &Path, change: FileChange<'_>) {
        self.record_by(ChangeAuthor::Call { task: call.task, call: call.call.clone() }, path, change);
    }
}

/// A state of a file, as it is recorded.
pub(super) fn content_of(state: FileState<'_>) -> RecordedContent {
    match state {
        FileState::Missing => RecordedContent::Missing,
        FileState::File { bytes, mode } => RecordedContent::file(bytes, mode),
        FileState::Unread => RecordedContent::Unread,
    }
}
