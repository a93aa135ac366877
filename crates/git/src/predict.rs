//! Predicts which of many branches conflict with each other, before anything is merged.

use std::collections::{BTreeMap, BTreeSet};

use crate::trial::{self, TrialMerge};
use crate::{Commit, Git, GitError, MergePart};

/// Maximum number of pairs tried; there may be more when very many branches change the same file.
const MAX_PAIRS: usize = 5_000;

/// Two parts that conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PredictedConflict {
    /// The name of one.
    pub a: String,
    /// The name of the other.
    pub b: String,
    /// The files that both changed.
    pub files: Vec<String>,
}

/// Predicts which pairs conflict. Pairs without a common changed file are not tried, so that many branches take little
/// time; conflicts caused only by a renamed folder are found when merging.
pub async fn predict(git: &Git, base: &Commit, parts: &[MergePart]) -> Result<Vec<PredictedConflict>, GitError> {
    let pairs = candidate_pairs(&changes_of_parts(git, base, parts).await?);
    let trials: Vec<TrialMerge<'_>> = pairs
        .iter()
        .map(|(a, b)| TrialMerge { base: None, ours: &parts[*a].commit, theirs: &parts[*b].commit })
        .collect();
    if trials.is_empty() {
        return Ok(Vec::new());
    }
    let results = trial::run_all(git, &trials).await?;
    let to_conflict = |((a, b), trial): (&(usize, usize), trial::TrialResult)| {
        let files = trial.conflict?.files;
        Some(PredictedConflict { a: parts[*a].name.clone(), b: parts[*b].name.clone(), files })
    };
    Ok(pairs.iter().zip(results).filter_map(to_conflict).collect())
}

/// The paths that a part changed, each with its change as reported by git.
type ChangedPaths = BTreeMap<Vec<u8>, Vec<u8>>;

/// The changes of each part, in the same order.
async fn changes_of_parts(git: &Git, base: &Commit, parts: &[MergePart]) -> Result<Vec<ChangedPaths>, GitError> {
    let commits = std::iter::once(base).chain(parts.iter().map(|part| &part.commit));
    let names: String = commits.map(|commit| format!("{commit}^{{tree}}\n")).collect();
    let trees = git.run_checked(&["cat-file", "--batch-check=%(objectname)"], names.as_bytes()).await?.run_for_text();
    let (base_tree, trees) = trees.split_once('\n').unwrap_or((&trees, ""));
    let headers: Vec<String> = trees.lines().map(|tree| format!("{base_tree} {tree}\n")).collect();
    let args = ["diff-tree", "--stdin", "-r", "-z", "--raw", "--no-abbrev", "--no-renames"];
    let output = git.run_checked(&args, headers.concat().as_bytes()).await?;
    let changes = parse_changes(&output.stdout, &headers).filter(|changes| changes.len() == parts.len());
    changes.ok_or_else(|| git.unexpected_output("diff-tree", &output.run_for_text()))
}

/// Parses the changes below each header line, which is known verbatim.
fn parse_changes(out: &[u8], headers: &[String]) -> Option<Vec<ChangedPaths>> {
    let mut rest = out;
    let field = |rest: &mut &[u8]| {
        let end = rest.iter().position(|byte| *byte == 0)?;
        let field = rest[..end].to_vec();
        *rest = &rest[end + 1..];
        Some(field)
    };
    let mut parts = Vec::new();
    for header in headers {
        rest = rest.strip_prefix(header.as_bytes())?;
        let mut changes = ChangedPaths::new();
        while rest.starts_with(b":") {
            let change = field(&mut rest)?;
            changes.insert(field(&mut rest)?, change);
        }
        parts.push(changes);
    }
    rest.is_empty().then_some(parts)
}

/// The pairs that changed a path differently, or in which one has a file where the other has a folder.
fn candidate_pairs(changes: &[ChangedPaths]) -> BTreeSet<(usize, usize)> {
    let mut by_path: BTreeMap<&[u8], Vec<(usize, &[u8])>> = BTreeMap::new();
    for (index, changes) in changes.iter().enumerate() {
        for (path, change) in changes {
            by_path.entry(path).or_default().push((index, change));
        }
    }
    let mut pairs = BTreeSet::new();
    for (path, here) in &by_path {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end).chain([path.len()]);
        for (end, there) in ends.filter_map(|end| Some((end, by_path.get(&path[..end])?))) {
            let is_same = end == path.len();
            let combinations = there.iter().flat_map(|there| here.iter().map(move |here| (there, here)));
            let conflicting =
                combinations.filter(|((a, one), (b, other))| if is_same { a < b && one != other } else { a != b });
            pairs.extend(conflicting.map(|((a, _), (b, _))| (*a.min(b), *a.max(b))).take(MAX_PAIRS));
            if pairs.len() >= MAX_PAIRS {
                return pairs.into_iter().take(MAX_PAIRS).collect();
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pairs_that_may_conflict_are_tried() {
        let changed_paths = |changes: &[(&str, &str)]| -> ChangedPaths {
            changes
                .iter()
                .map(|(path, changed_paths)| (path.as_bytes().to_vec(), changed_paths.as_bytes().to_vec()))
                .collect()
        };
        let all = [
            changed_paths(&[("a", "1"), ("b/c", "1"), ("same", "1")]),
            changed_paths(&[("b", "1"), ("same", "1")]),
            changed_paths(&[("a", "2"), ("d", "1")]),
            changed_paths(&[("e/f", "1")]),
            changed_paths(&[]),
        ];
        assert_eq!(candidate_pairs(&all).into_iter().collect::<Vec<_>>(), [(0, 1), (0, 2)]);
        let crowd: Vec<ChangedPaths> = (0..500).map(|n| changed_paths(&[("a", &n.to_string())])).collect();
        assert_eq!(candidate_pairs(&crowd).len(), MAX_PAIRS);
    }

    #[test]
    fn changes_are_parsed_below_their_headers() {
        let headers = ["x 1\n", "x 2\n", "x 3\n"].map(String::from);
        let read =
            |out: &[u8]| parse_changes(out, &headers).map(|all| all.iter().map(ChangedPaths::len).collect::<Vec<_>>());
        assert_eq!(read(b"x 1\n:m\0a\0:m\0b\nc\0x 2\nx 3\n:m\0d\0"), Some(vec![2, 0, 1]));
        for odd in [&b""[..], b"x 1\n:m\0a", b"x 1\n:m\0a\0", b"x 2\n"] {
            assert_eq!(read(odd), None);
        }
    }
}
