//! Merges commits without a work tree. The same commits in the same order give the same merge, byte for byte.

use crate::commit::subject;
use crate::draft::{CommitDraft, contains_commit};
use crate::trial::{TrialMerge, TrialResult};
use crate::{Commit, Git, GitError, Signature};

/// A commit to merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergePart {
    /// Its display name.
    pub name: String,
    /// Its subject line; may be empty.
    pub title: String,
    /// The commit.
    pub commit: Commit,
}

/// The outcome of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeOutcome {
    /// The merge commit.
    Merged(Commit),
    /// Both sides changed the same place.
    Conflict(Box<MergeConflict>),
}

/// A merge that git could not finish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeConflict {
    /// The merged commits so far.
    pub tip: Commit,
    /// The part that conflicts with it.
    pub part: MergePart,
    /// The files that both changed.
    pub files: Vec<String>,
    /// Git's messages, one per line.
    pub messages: Vec<String>,
    /// The partly merged tree, with conflict markers in the files.
    tree: String,
}

/// The outcome of resolving a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolveOutcome {
    /// The commit of the merge.
    Merged(Commit),
    /// These files still have conflict markers.
    MarkersLeft(Vec<String>),
}

/// Merges parts one after the other, on top of `base`.
pub async fn merge_all(
    git: &Git,
    base: &Commit,
    parts: &[MergePart],
    author: &Signature,
) -> Result<MergeOutcome, GitError> {
    let mut tip = base.clone();
    for part in parts {
        match merge(git, &tip, part, author).await? {
            MergeOutcome::Merged(next) => tip = next,
            conflict @ MergeOutcome::Conflict(_) => return Ok(conflict),
        }
    }
    Ok(MergeOutcome::Merged(tip))
}

/// Merges one part. A part that is already contained changes nothing, and one based on the tip needs no merge commit.
pub async fn merge(git: &Git, tip: &Commit, part: &MergePart, author: &Signature) -> Result<MergeOutcome, GitError> {
    if contains_commit(git, tip, &part.commit).await? {
        return Ok(MergeOutcome::Merged(tip.clone()));
    }
    if contains_commit(git, &part.commit, tip).await? {
        return Ok(MergeOutcome::Merged(part.commit.clone()));
    }
    let TrialResult { tree, conflict: end } =
        TrialMerge { base: None, ours: tip, theirs: &part.commit }.run(git).await?;
    match end {
        None => {
            let draft = CommitDraft { tree: &tree, parents: &[tip, &part.commit], message: &merge_message(part) };
            Ok(MergeOutcome::Merged(draft.commit(git, author).await?))
        }
        Some(conflict) => {
            let (files, messages) = (conflict.files, conflict.messages);
            Ok(MergeOutcome::Conflict(Box::new(MergeConflict {
                tip: tip.clone(),
                part: part.clone(),
                files,
                messages,
                tree,
            })))
        }
    }
}

impl MergeConflict {
    /// The commit that a resolver starts with: the files have markers where both sides differ, named by the ids of the
    /// two commits.
    pub async fn start_commit(&self, git: &Git, author: &Signature) -> Result<Commit, GitError> {
        let message = format!("Begin to merge {}", self.part.name);
        let draft = CommitDraft { tree: &self.tree, parents: &[&self.tip, &self.part.commit], message: &message };
        draft.commit(git, author).await
    }

    /// Uses the tree of a commit for the merge, if it has no markers left.
    pub async fn resolve(
        &self,
        git: &Git,
        resolution: &Commit,
        author: &Signature,
    ) -> Result<ResolveOutcome, GitError> {
        commit_resolution(git, [&self.tip, &self.part.commit], &self.part, resolution, author).await
    }

    /// The merge of the same part on another tip from an earlier resolution, given its start and its result.
    pub async fn reuse_resolution(
        &self,
        git: &Git,
        start: &Commit,
        resolution: &Commit,
        author: &Signature,
    ) -> Result<Option<Commit>, GitError> {
        let parents = git.text(&["rev-list", "--no-walk", "--parents", start.as_str()]).await?;
        let parents: Vec<Commit> = parents.split(' ').skip(1).filter_map(Commit::new).collect();
        match &parents[..] {
            [tip, theirs] if *theirs == self.part.commit => {
                match commit_resolution(git, [tip, theirs], &self.part, resolution, author).await? {
                    ResolveOutcome::Merged(commit) => Ok(Some(commit)),
                    ResolveOutcome::MarkersLeft(_) => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }
}

async fn commit_resolution(
    git: &Git,
    parents: [&Commit; 2],
    part: &MergePart,
    resolution: &Commit,
    author: &Signature,
) -> Result<ResolveOutcome, GitError> {
    let marked = files_with_markers(git, parents, resolution).await?;
    if !marked.is_empty() {
        return Ok(ResolveOutcome::MarkersLeft(marked));
    }
    let tree = git.text(&["rev-parse", "--verify", &format!("{resolution}^{{tree}}")]).await?;
    let draft = CommitDraft { tree: &tree, parents: &parents, message: &merge_message(part) };
    Ok(ResolveOutcome::Merged(draft.commit(git, author).await?))
}

/// The files with a marker of a conflict between these commits.
async fn files_with_markers(
    git: &Git,
    [ours, theirs]: [&Commit; 2],
    resolution: &Commit,
) -> Result<Vec<String>, GitError> {
    // A git that is too old to name the sides for a merge driver leaves the placeholders.
    let mark = format!("^(<<<<<<<|>>>>>>>) ({ours}|{theirs}|%X|%Y)");
    let args = ["grep", "-z", "-l", "--no-color", "--full-name", "-E", "-e", &mark, resolution.as_str()];
    let output = git.run(&args, &[]).await?;
    match output.code {
        0 | 1 => {}
        _ => return Err(git.failure(&args, &output)),
    }
    let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let plain = |name: &[u8]| {
        let name = String::from_utf8_lossy(name);
        name.split_once(':').map_or_else(|| name.to_string(), |(_commit, path)| path.to_owned())
    };
    Ok(names.map(plain).collect())
}

fn merge_message(part: &MergePart) -> String {
    match subject(&part.title) {
        title if title.is_empty() => format!("Merge {}", part.name),
        title => format!("Merge {}: {title}", part.name),
    }
}
