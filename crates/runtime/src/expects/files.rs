//! Files that a task must have changed.

use globset::{Glob, GlobBuilder, GlobMatcher};
use protocol::{Clip, Evidence, TaskId};

use crate::roster::Roster;

/// The patterns, if all of them can be read.
pub(super) fn patterns(files: &[String]) -> Result<Vec<GlobMatcher>, String> {
    let read = |pattern: &String| {
        let glob: Result<Glob, _> = GlobBuilder::new(pattern).literal_separator(true).build();
        let glob = glob.map_err(|error| format!("`files` cannot be read: {error}"))?;
        Ok(glob.compile_matcher())
    };
    files.iter().map(read).collect()
}

/// The patterns that no file fits which the task, or a task below it, changed with a tool.
pub(super) fn missing(roster: &Roster, task: TaskId, files: &[String]) -> Result<Option<String>, String> {
    let patterns = patterns(files)?;
    let mut changed: Vec<String> = Vec::new();
    for id in std::iter::once(task).chain(roster.below(task)) {
        let paths = roster.known(id, |known| known.evidence.iter().filter_map(path).collect::<Vec<_>>());
        changed.extend(paths.into_iter().flatten());
    }
    let unfit = patterns.iter().filter(|pattern| !changed.iter().any(|path| pattern.is_match(path)));
    let unfit: Vec<String> = unfit.map(|pattern| format!("`{}`", pattern.glob())).collect();
    Ok((!unfit.is_empty()).then(|| {
        let unfit = Clip::new(&unfit.join(", "), 1_000);
        format!("- no file that fits {unfit} was changed with create, edit or apply_patch")
    }))
}

fn path(piece: &Evidence) -> Option<String> {
    match piece {
        Evidence::Changed { path } => Some(path.clone()),
        Evidence::Ran { .. } => None,
    }
}
