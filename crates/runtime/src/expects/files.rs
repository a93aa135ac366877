//! Files that a task must have changed.

use globset::{Glob, GlobBuilder, GlobMatcher};
use protocol::{Clip, Evidence, TaskId};

use super::Snapshot;
use crate::agent::Desk;

/// Most patterns, and most bytes of one.
const MOST: usize = 100;
const LONGEST: usize = 500;

/// The patterns, if all of them can be read.
pub(crate) fn patterns(files: &[String]) -> Result<Vec<GlobMatcher>, String> {
    if files.len() > MOST || files.iter().any(|pattern| pattern.len() > LONGEST) {
        return Err(format!("`files` may be {MOST} patterns of {LONGEST} bytes each, and no more"));
    }
    let read = |pattern: &String| {
        let glob: Result<Glob, _> = GlobBuilder::new(pattern).literal_separator(true).build();
        let glob = glob.map_err(|error| format!("`files` cannot be read: {error}"))?;
        Ok(glob.compile_matcher())
    };
    files.iter().map(read).collect()
}

/// What the files look like now that fit patterns, where a task works.
pub(super) async fn declared(desk: &Desk, task: TaskId, files: Vec<String>) -> Option<Snapshot> {
    let site = desk.site(task).ok()?;
    tokio::task::spawn_blocking(move || Snapshot::declared(site.cwd(), &files)).await.ok()
}

/// The patterns that no file fits which changed since the task began: as the evidence of it and of tasks below it says,
/// or as the files themselves do, whoever changed them.
pub(super) async fn missing(desk: &Desk, task: TaskId, files: &[String]) -> Result<Option<String>, String> {
    let patterns = patterns(files)?;
    let mut changed = touched(desk, task);
    if patterns.iter().any(|pattern| !changed.iter().any(|path| pattern.is_match(path)))
        && let Some(before) = desk.remembered(task)
        && let Some(after) = declared(desk, task, files.to_vec()).await
    {
        changed.extend(before.changes(&after).map(|path| path.display().to_string()));
    }
    let unfit = patterns.iter().filter(|pattern| !changed.iter().any(|path| pattern.is_match(path)));
    let unfit: Vec<String> = unfit.map(|pattern| format!("`{}`", pattern.glob())).collect();
    Ok((!unfit.is_empty()).then(|| {
        let unfit = Clip::new(&unfit.join(", "), 1_000);
        format!("- no file that fits {unfit} was changed")
    }))
}

/// What calls of a task and of those below it changed.
fn touched(desk: &Desk, task: TaskId) -> Vec<String> {
    let roster = &desk.roster;
    let mut changed: Vec<String> = Vec::new();
    for id in std::iter::once(task).chain(roster.below(task)) {
        changed.extend(desk.words(id).evidence().iter().filter_map(path));
    }
    changed
}

fn path(piece: &Evidence) -> Option<String> {
    match piece {
        Evidence::Changed { path } => Some(path.clone()),
        Evidence::Ran { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_patterns_are_made_ready() {
        assert_eq!(patterns(&vec!["a".to_owned(); MOST]).map(|ready| ready.len()), Ok(MOST));
        assert!(patterns(&vec!["a".to_owned(); MOST + 1]).is_err());
        assert!(patterns(&["a".repeat(LONGEST + 1)]).is_err());
    }
}
