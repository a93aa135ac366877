//! The expectation that files were changed.

use std::sync::Arc;

use globset::{Glob, GlobBuilder, GlobMatcher};
use protocol::{Clip, Evidence, TaskId};

use super::{ExpectationCheck, FileSnapshot};
use crate::session_context::SessionLog;
use crate::task_workspaces::TaskWorkspace;

/// Maximum number of patterns.
const MAX_PATTERNS: usize = 100;

/// Maximum bytes of a pattern.
const MAX_PATTERN_BYTES: usize = 500;

/// Why patterns of files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FilePatternError {
    /// There are too many, or one is too long.
    #[error("`files` may have at most {} patterns of {} bytes each", MAX_PATTERNS, MAX_PATTERN_BYTES)]
    TooLarge,
    /// One is not a pattern.
    #[error("`files` has an invalid pattern: {0}")]
    Invalid(#[from] globset::Error),
}

/// Compiles the patterns.
pub(crate) fn compile_patterns(files: &[String]) -> Result<Vec<GlobMatcher>, FilePatternError> {
    if files.len() > MAX_PATTERNS || files.iter().any(|pattern| pattern.len() > MAX_PATTERN_BYTES) {
        return Err(FilePatternError::TooLarge);
    }
    let compile = |pattern: &String| {
        let glob: Result<Glob, _> = GlobBuilder::new(pattern).literal_separator(true).build();
        Ok(glob?.compile_matcher())
    };
    files.iter().map(compile).collect()
}

/// Takes a snapshot of the files in a workspace that match patterns.
pub(super) async fn snapshot_files(workspace: &Arc<TaskWorkspace>, files: Vec<String>) -> Option<FileSnapshot> {
    let workspace = Arc::clone(workspace);
    tokio::task::spawn_blocking(move || FileSnapshot::of_patterns(workspace.cwd(), &files)).await.ok()
}

impl ExpectationCheck<'_> {
    /// Describes the patterns for which no matching file has changed since the task started. Changes come from the
    /// evidence of the task and of tasks below it, and from comparing the files.
    pub(super) async fn check_files(self, files: &[String]) -> Result<Option<String>, FilePatternError> {
        let patterns = compile_patterns(files)?;
        if patterns.is_empty() {
            return Ok(None);
        }
        let mut changed = self.session.changed_paths().await;
        if patterns.iter().any(|pattern| !changed.iter().any(|path| pattern.is_match(path)))
            && let Some(before) = self.memory.expected_files.get()
            && let Some(after) = snapshot_files(self.workspace, files.to_vec()).await
        {
            changed.extend(before.changes(&after).map(|path| path.display().to_string()));
        }
        let unmatched = patterns.iter().filter(|pattern| !changed.iter().any(|path| pattern.is_match(path)));
        let unmatched: Vec<String> = unmatched.map(|pattern| format!("`{}`", pattern.glob())).collect();
        Ok((!unmatched.is_empty()).then(|| {
            let unmatched = Clip::new(&unmatched.join(", "), 1_000);
            format!("- no file that matches {unmatched} was changed")
        }))
    }
}

/// The files that calls of a task and of tasks below it changed.
pub(crate) fn changed_paths(log: &SessionLog, task: TaskId) -> Vec<String> {
    let roster = &log.roster;
    let mut changed: Vec<String> = Vec::new();
    for id in std::iter::once(task).chain(roster.descendants(task)) {
        changed.extend(log.task_trace(id).evidence().iter().filter_map(changed_path));
    }
    changed
}

fn changed_path(piece: &Evidence) -> Option<String> {
    match piece {
        Evidence::Changed { path } => Some(path.clone()),
        Evidence::Ran { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_and_size_of_patterns_are_limited() {
        assert_eq!(compile_patterns(&vec!["a".to_owned(); MAX_PATTERNS]).unwrap().len(), MAX_PATTERNS);
        assert!(compile_patterns(&vec!["a".to_owned(); MAX_PATTERNS + 1]).is_err());
        assert!(compile_patterns(&["a".repeat(MAX_PATTERN_BYTES + 1)]).is_err());
    }
}
