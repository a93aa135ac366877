//! Pins commits of a checkout against pruning: finds them, and fetches them into the user's repository.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use protocol::SessionId;

use crate::{Commit, Git, GitError};

/// The commits of a repository that are not part of `base` and not an ancestor of another such commit: the tips of
/// branches, stashes, and what was reset or dropped.
pub(crate) async fn loose_commits(git: &Git, base: &Commit) -> Result<Vec<Commit>, GitError> {
    let excluded = format!("^{base}");
    let output = git.run_checked(&["rev-list", "--parents", "--all", "--reflog", "HEAD", &excluded], &[]).await;
    let text = match output {
        Ok(output) => output.run_for_text(),
        // An unborn HEAD has no commit to keep.
        Err(_unborn) => git.text(&["rev-list", "--parents", "--all", "--reflog", &excluded]).await?,
    };
    let parents: HashSet<&str> = text.lines().flat_map(|line| line.split(' ').skip(1)).collect();
    let commits = text.lines().filter_map(|line| line.split(' ').next());
    Ok(commits.filter(|commit| !parents.contains(commit)).filter_map(Commit::new).collect())
}

/// Fetches commits of the repository at `from`, each under a ref that starts with `pins`.
pub(crate) async fn fetch_commits(git: &Git, from: &Path, commits: &[Commit], pins: &str) -> Result<(), GitError> {
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
    git.run_checked(&args, wanted.as_bytes()).await.map(|_output| ())
}

/// Removes the refs below a prefix whose commits are contained in `holder`; returns their number.
pub async fn remove_contained_refs(git: &Git, holder: &str, ref_prefix: &str) -> Result<usize, GitError> {
    let args = ["for-each-ref", &format!("--merged={holder}"), "--format=delete %(refname) %(objectname)", ref_prefix];
    let commands = git.text(&args).await?;
    if commands.is_empty() {
        return Ok(0);
    }
    git.run_checked(&["update-ref", "--stdin"], format!("{commands}\n").as_bytes()).await?;
    Ok(commands.lines().count())
}

/// The refs of sessions in a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pins {
    /// Refs whose commits are part of a branch, a tag or HEAD, by session: history keeps them without a ref.
    pub landed: BTreeMap<SessionId, Vec<Pin>>,
    /// Refs whose commits are kept by nothing else.
    pub not_landed: BTreeMap<SessionId, Vec<Pin>>,
}

/// A ref and its commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The ref.
    pub name: String,
    /// The commit.
    pub commit: Commit,
}

impl Pins {
    /// Reads the refs.
    pub async fn read(git: &Git) -> Result<Pins, GitError> {
        let text = git.text(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/bosun/"]).await?;
        let mut all: Vec<(SessionId, Pin)> = Vec::new();
        for (name, id) in text.lines().filter_map(|line| line.split_once(' ')) {
            let session = name.split('/').nth(2).and_then(|session| session.parse().ok());
            if let (Some(session), Some(commit)) = (session, Commit::new(id)) {
                all.push((session, Pin { name: name.to_owned(), commit }));
            }
        }
        let mut pins = Pins::default();
        if all.is_empty() {
            return Ok(pins);
        }
        let wanted: String = all.iter().map(|(_, pin)| format!("{}\n", pin.commit)).collect();
        let args = ["rev-list", "--stdin", "--not", "HEAD", "--branches", "--tags", "--remotes"];
        let output = git.run_checked(&args, wanted.as_bytes()).await?.run_for_text();
        let loose: HashSet<&str> = output.lines().collect();
        for (session, pin) in all {
            let group = if loose.contains(pin.commit.as_str()) { &mut pins.not_landed } else { &mut pins.landed };
            group.entry(session).or_default().push(pin);
        }
        Ok(pins)
    }

    /// Removes refs, unless one has moved since it was read.
    pub async fn remove<'a>(git: &Git, pins: impl IntoIterator<Item = &'a Pin>) -> Result<(), GitError> {
        let commands = pins.into_iter().map(|Pin { name, commit }| format!("delete {name} {commit}\n"));
        let commands: String = commands.collect();
        if commands.is_empty() {
            return Ok(());
        }
        git.run_checked(&["update-ref", "--stdin"], commands.as_bytes()).await.map(|_output| ())
    }
}
