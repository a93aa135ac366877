//! Commits of a checkout that no later cleaning may take: found there, and brought to the user's repository.

use std::collections::HashSet;
use std::path::Path;

use crate::{Commit, Git, GitError};

/// Every commit of a repository that is not part of `base` and that no other such commit goes on from: the ends of
/// branches, stashes, and what was reset or thrown away.
pub(crate) async fn loose(git: &Git, base: &Commit) -> Result<Vec<Commit>, GitError> {
    let excluded = format!("^{base}");
    let said = git.done(&["rev-list", "--parents", "--all", "--reflog", "HEAD", &excluded], &[]).await;
    let text = match said {
        Ok(said) => said.text(),
        // A HEAD without a commit is no commit to keep.
        Err(_unborn) => git.text(&["rev-list", "--parents", "--all", "--reflog", &excluded]).await?,
    };
    let parents: HashSet<&str> = text.lines().flat_map(|line| line.split(' ').skip(1)).collect();
    let commits = text.lines().filter_map(|line| line.split(' ').next());
    Ok(commits.filter(|commit| !parents.contains(commit)).filter_map(Commit::new).collect())
}

/// Brings commits of the repository at `from` here, each under a ref that begins with `pins`.
pub(crate) async fn fetch(git: &Git, from: &Path, commits: &[Commit], pins: &str) -> Result<(), GitError> {
    if commits.is_empty() {
        return Ok(());
    }
    let wanted: String = commits.iter().map(|commit| format!("+{commit}:{pins}{commit}\n")).collect();
    let from = from.display().to_string();
    let args = [
        "-c",
        "protocol.version=2",
        "-c",
        "fetch.writeCommitGraph=false",
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-prune",
        "--no-write-fetch-head",
        "--no-recurse-submodules",
        "--no-auto-maintenance",
        "--stdin",
        &from,
    ];
    git.done(&args, wanted.as_bytes()).await.map(|_said| ())
}

/// Removes the refs below a prefix whose commits are part of another one.
pub async fn drop_held(git: &Git, holder: &str, below: &str) -> Result<usize, GitError> {
    let args = ["for-each-ref", &format!("--merged={holder}"), "--format=delete %(refname) %(objectname)", below];
    let orders = git.text(&args).await?;
    if orders.is_empty() {
        return Ok(0);
    }
    git.done(&["update-ref", "--stdin"], format!("{orders}\n").as_bytes()).await?;
    Ok(orders.lines().count())
}
