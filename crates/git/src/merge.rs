//! Commits merged without a work tree. The same commits in the same order give the same merge, byte for byte.

use crate::commit::subject;
use crate::draft::{Draft, holds};
use crate::trial::{Trial, Try};
use crate::{Commit, Git, GitError, Signature};

/// What somebody brought, to be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What people call it.
    pub name: String,
    /// What it is, in a line; may be empty.
    pub title: String,
    /// The commit.
    pub commit: Commit,
}

/// What became of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// A commit that holds everything.
    Whole(Commit),
    /// Both sides changed the same place.
    Conflict(Box<Conflict>),
}

/// A merge that git could not finish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// What was merged before.
    pub tip: Commit,
    /// What does not fit it.
    pub part: Part,
    /// The files that both changed.
    pub files: Vec<String>,
    /// What git says of it, one thing a line.
    pub words: Vec<String>,
    /// The tree as far as it is merged, with marks in the files.
    tree: String,
}

/// What became of a conflict that somebody worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// The commit of the merge.
    Whole(Commit),
    /// These files still have marks.
    Marked(Vec<String>),
}

/// Merges parts one after the other, on top of `base`.
pub async fn join(git: &Git, base: &Commit, parts: &[Part], by: &Signature) -> Result<Merged, GitError> {
    let mut tip = base.clone();
    for part in parts {
        match merge(git, &tip, part, by).await? {
            Merged::Whole(next) => tip = next,
            conflict @ Merged::Conflict(_) => return Ok(conflict),
        }
    }
    Ok(Merged::Whole(tip))
}

/// Merges one part. What is there already changes nothing, and what was built on the tip needs no commit of its own.
pub async fn merge(git: &Git, tip: &Commit, part: &Part, by: &Signature) -> Result<Merged, GitError> {
    if holds(git, tip, &part.commit).await? {
        return Ok(Merged::Whole(tip.clone()));
    }
    if holds(git, &part.commit, tip).await? {
        return Ok(Merged::Whole(part.commit.clone()));
    }
    let Trial { tree, end } = Try { base: None, ours: tip, theirs: &part.commit }.run(git).await?;
    match end {
        None => {
            let draft = Draft { tree: &tree, parents: &[tip, &part.commit], message: &message(part) };
            Ok(Merged::Whole(draft.commit(git, by).await?))
        }
        Some(clash) => {
            let (files, words) = (clash.files, clash.words);
            Ok(Merged::Conflict(Box::new(Conflict { tip: tip.clone(), part: part.clone(), files, words, tree })))
        }
    }
}

impl Conflict {
    /// A commit to begin with for whoever is to resolve it: the files have marks where both sides differ, named by the
    /// ids of the two commits.
    pub async fn begun(&self, git: &Git, by: &Signature) -> Result<Commit, GitError> {
        let message = format!("Begin to merge {}", self.part.name);
        let draft = Draft { tree: &self.tree, parents: &[&self.tip, &self.part.commit], message: &message };
        draft.commit(git, by).await
    }

    /// Takes the tree of a commit for the merge, if no mark is left in it.
    pub async fn resolve(&self, git: &Git, done: &Commit, by: &Signature) -> Result<Resolved, GitError> {
        resolved(git, [&self.tip, &self.part.commit], &self.part, done, by).await
    }

    /// The merge that somebody made of the same part on another tip, by where they began and what they made of it.
    pub async fn again(
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
                    Resolved::Whole(commit) => Ok(Some(commit)),
                    Resolved::Marked(_) => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }
}

async fn resolved(
    git: &Git,
    parents: [&Commit; 2],
    part: &Part,
    done: &Commit,
    by: &Signature,
) -> Result<Resolved, GitError> {
    let marked = marked(git, parents, done).await?;
    if !marked.is_empty() {
        return Ok(Resolved::Marked(marked));
    }
    let tree = git.text(&["rev-parse", "--verify", &format!("{done}^{{tree}}")]).await?;
    let draft = Draft { tree: &tree, parents: &parents, message: &message(part) };
    Ok(Resolved::Whole(draft.commit(git, by).await?))
}

/// The files that have a mark of a conflict between these commits.
async fn marked(git: &Git, [ours, theirs]: [&Commit; 2], done: &Commit) -> Result<Vec<String>, GitError> {
    // A git that is too old to name the sides for a merge driver leaves the letters that stand for them.
    let mark = format!("^(<<<<<<<|>>>>>>>) ({ours}|{theirs}|%X|%Y)");
    let args = ["grep", "-z", "-l", "--no-color", "--full-name", "-E", "-e", &mark, done.as_str()];
    let said = git.run(&args, &[]).await?;
    match said.code {
        0 | 1 => {}
        _ => return Err(git.failed(&args, &said)),
    }
    let names = said.out.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let plain = |name: &[u8]| {
        let name = String::from_utf8_lossy(name);
        name.split_once(':').map_or_else(|| name.to_string(), |(_commit, path)| path.to_owned())
    };
    Ok(names.map(plain).collect())
}

fn message(part: &Part) -> String {
    match subject(&part.title) {
        title if title.is_empty() => format!("Merge {}", part.name),
        title => format!("Merge {}: {title}", part.name),
    }
}
