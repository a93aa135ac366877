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
    Whole(Commit),
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
    Whole(Commit),
    /// These files still have conflict markers.
    Marked(Vec<String>),
}

/// Merges parts one after the other, on top of `base`.
pub async fn join(git: &Git, base: &Commit, parts: &[MergePart], by: &Signature) -> Result<MergeOutcome, GitError> {
    let mut tip = base.clone();
    for part in parts {
        match merge(git, &tip, part, by).await? {
            MergeOutcome::Whole(next) => tip = next,
            conflict @ MergeOutcome::Conflict(_) => return Ok(conflict),
        }
    }
    Ok(MergeOutcome::Whole(tip))
}

/// Merges one part. A part that is already contained changes nothing, and one based on the tip needs no merge commit.
pub async fn merge(git: &Git, tip: &Commit, part: &MergePart, by: &Signature) -> Result<MergeOutcome, GitError> {
    if contains_commit(git, tip, &part.commit).await? {
        return Ok(MergeOutcome::Whole(tip.clone()));
    }
    if contains_commit(git, &part.commit, tip).await? {
        return Ok(MergeOutcome::Whole(part.commit.clone()));
    }
    let TrialResult { tree, end } = TrialMerge { base: None, ours: tip, theirs: &part.commit }.run(git).await?;
    match end {
        None => {
            let draft = CommitDraft { tree: &tree, parents: &[tip, &part.commit], message: &message(part) };
            Ok(MergeOutcome::Whole(draft.commit(git, by).await?))
        }
        Some(clash) => {
            let (files, words) = (clash.files, clash.words);
            Ok(MergeOutcome::Conflict(Box::new(MergeConflict {
                tip: tip.clone(),
                part: part.clone(),
                files,
                messages: words,
                tree,
            })))
        }
    }
}

impl MergeConflict {
    /// The commit that a resolver starts with: the files have markers where both sides differ, named by the ids of the
    /// two commits.
    pub async fn start_commit(&self, git: &Git, by: &Signature) -> Result<Commit, GitError> {
        let message = format!("Begin to merge {}", self.part.name);
        let draft = CommitDraft { tree: &self.tree, parents: &[&self.tip, &self.part.commit], message: &message };
        draft.commit(git, by).await
    }

    /// Uses the tree of a commit for the merge, if it has no markers left.
    pub async fn resolve(&self, git: &Git, done: &Commit, by: &Signature) -> Result<ResolveOutcome, GitError> {
        resolved(git, [&self.tip, &self.part.commit], &self.part, done, by).await
    }

    /// The merge of the same part on another tip from an earlier resolution, given its start and its result.
    pub async fn reuse_resolution(
        &self,
        git: &Git,
        begun: &Commit,
        done: &Commit,
        by: &Signature,
    ) -> Result<Option<Commit>, GitError> {
        let parents = git.text(&["rev-list", "--no-walk", "--parents", begun.as_str()]).await?;
        let parents: Vec<Commit> = parents.split(' ').skip(1).filter_map(Commit::new).collect();
        match &parents[..] {
            [tip, theirs] if *theirs == self.part.commit => {
                match resolved(git, [tip, theirs], &self.part, done, by).await? {
                    ResolveOutcome::Whole(commit) => Ok(Some(commit)),
                    ResolveOutcome::Marked(_) => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }
}

async fn resolved(
    git: &Git,
    parents: [&Commit; 2],
    part: &MergePart,
    done: &Commit,
    by: &Signature,
) -> Result<ResolveOutcome, GitError> {
    let marked = marked(git, parents, done).await?;
    if !marked.is_empty() {
        return Ok(ResolveOutcome::Marked(marked));
    }
    let tree = git.text(&["rev-parse", "--verify", &format!("{done}^{{tree}}")]).await?;
    let draft = CommitDraft { tree: &tree, parents: &parents, message: &message(part) };
    Ok(ResolveOutcome::Whole(draft.commit(git, by).await?))
}

/// The files with a marker of a conflict between these commits.
async fn marked(git: &Git, [ours, theirs]: [&Commit; 2], done: &Commit) -> Result<Vec<String>, GitError> {
    // A git that is too old to name the sides for a merge driver leaves the placeholders.
    let mark = format!("^(<<<<<<<|>>>>>>>) ({ours}|{theirs}|%X|%Y)");
    let args = ["grep", "-z", "-l", "--no-color", "--full-name", "-E", "-e", &mark, done.as_str()];
    let output = git.run(&args, &[]).await?;
    match output.code {
        0 | 1 => {}
        _ => return Err(git.failed(&args, &output)),
    }
    let names = output.out.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let plain = |name: &[u8]| {
        let name = String::from_utf8_lossy(name);
        name.split_once(':').map_or_else(|| name.to_string(), |(_commit, path)| path.to_owned())
    };
    Ok(names.map(plain).collect())
}

fn message(part: &MergePart) -> String {
    match subject(&part.title) {
        title if title.is_empty() => format!("Merge {}", part.name),
        title => format!("Merge {}: {title}", part.name),
    }
}
