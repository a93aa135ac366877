//! Tries merges on trees alone, any number of them in one command.

use crate::{Commit, Git, GitError};

/// Overrides settings of the user that change a merge.
const SETTINGS: [&str; 6] = [
    "merge.renames=true",
    "merge.directoryRenames=conflict",
    "merge.conflictStyle=diff3",
    "merge.renormalize=false",
    "merge.renameLimit=1000",
    "diff.algorithm=default",
];

/// Two commits to be merged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrialMerge<'a> {
    /// The merge base; found from history when absent.
    pub(crate) base: Option<&'a Commit>,
    pub(crate) ours: &'a Commit,
    pub(crate) theirs: &'a Commit,
}

/// The result of a trial merge.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TrialResult {
    /// The merged tree; conflicting files have markers.
    pub(crate) tree: String,
    /// The conflict; none after a clean merge.
    pub(crate) conflict: Option<TrialConflict>,
}

/// The conflict of a merge.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TrialConflict {
    pub(crate) files: Vec<String>,
    pub(crate) messages: Vec<String>,
}

impl TrialMerge<'_> {
    pub(crate) async fn run(self, git: &Git) -> Result<TrialResult, GitError> {
        let mut trials = run_all(git, &[self]).await?;
        trials.pop().ok_or_else(|| git.unexpected_output("merge-tree", "nothing"))
    }
}

/// The results of the merges, in the same order.
pub(crate) async fn run_all(git: &Git, merges: &[TrialMerge<'_>]) -> Result<Vec<TrialResult>, GitError> {
    let mut args: Vec<&str> = SETTINGS.iter().flat_map(|setting| ["-c", setting]).collect();
    args.extend(["merge-tree", "--write-tree", "--name-only", "--messages", "--stdin"]);
    let line = |pair: &TrialMerge<'_>| match pair.base {
        Some(base) => format!("{base} -- {} {}\n", pair.ours, pair.theirs),
        None => format!("{} {}\n", pair.ours, pair.theirs),
    };
    let input: String = merges.iter().map(line).collect();
    let output = git.run_checked(&args, input.as_bytes()).await?;
    let trials = parse_results(&output.stdout).unwrap_or_default();
    if trials.len() == merges.len() {
        Ok(trials)
    } else {
        Err(git.unexpected_output("merge-tree", &output.run_for_text()))
    }
}

/// Parses the output: a state, a tree, names up to an empty one, then messages up to an empty field.
fn parse_results(out: &[u8]) -> Option<Vec<TrialResult>> {
    let mut fields = out.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let mut trials = Vec::new();
    loop {
        let state = fields.next()?;
        if state.is_empty() {
            return Some(trials);
        }
        let tree = fields.next()?.into_owned();
        let mut conflict = TrialConflict::default();
        conflict.files.extend(fields.by_ref().take_while(|name| !name.is_empty()).map(String::from));
        while let Some(count) = fields.next().filter(|count| !count.is_empty()) {
            let paths: Vec<String> = fields.by_ref().take(count.parse().ok()?).map(String::from).collect();
            let (kind, message) = (fields.next()?, fields.next()?);
            if kind.starts_with("CONFLICT") {
                conflict.messages.push(message.trim_end().to_owned());
                conflict.files.extend(paths);
            }
        }
        conflict.files.sort();
        conflict.files.dedup();
        trials.push(TrialResult { tree, conflict: (state != "1").then_some(conflict) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_parsed_completely_or_rejected() {
        let clash =
            ["0", "aaaa", "f", "", "1", "f", "Auto-merging", "of f\n", "1", "f", "CONFLICT (a)", "in f\n", "", ""];
        let out = [&clash[..clash.len() - 1], &["1", "bbbb", "", "", ""]].concat().join("\0").into_bytes();
        let clashed = TrialConflict { files: vec!["f".into()], messages: vec!["in f".into()] };
        let expected = [
            TrialResult { tree: "aaaa".into(), conflict: Some(clashed) },
            TrialResult { tree: "bbbb".into(), conflict: None },
        ];
        assert_eq!(parse_results(&out).as_deref(), Some(&expected[..]));
        for cut in 1..out.len() {
            let _no_panic = parse_results(&out[..cut]);
        }
        assert_eq!(parse_results("0 aaaa  99999999999999999999999 ".replace(' ', "\0").as_bytes()), None);
        assert_eq!(parse_results(b""), Some(Vec::new()));
    }
}
