//! The sample as a git repository with one commit, and what the fleet made of it.

use git::{Git, GitError};

use crate::doctor;

/// The sample's history.
#[derive(Debug)]
pub(super) struct SampleHistory {
    git: Git,
    /// The commit that the fleet began with.
    base: String,
}

impl SampleHistory {
    /// Makes the folder of `git` a repository whose one commit is everything in it; or says why that cannot be.
    pub(super) async fn begin(git: Git) -> Result<SampleHistory, String> {
        let version = git.text(&["--version"]).await.map_err(|error| error.to_string())?;
        let version = version.trim_start_matches("git version ");
        if doctor::is_old_git(version) {
            return Err(format!("git {version} is too old; install git 2.38 or newer"));
        }
        let base = commit(&git).await.map_err(|error| error.to_string())?;
        Ok(SampleHistory { git, base })
    }

    /// The commits, as a graph.
    pub(super) async fn graph(&self) -> Result<String, GitError> {
        self.git.text(&["log", "--graph", "--oneline", "--no-color", "--no-decorate"]).await
    }

    /// What is different from how the fleet found it.
    pub(super) async fn changes(&self) -> Result<String, GitError> {
        self.git.text(&["diff", "--no-color", "--no-ext-diff", &self.base, "HEAD"]).await
    }
}

/// Commits everything, by an identity that only this repository knows; the commit's id.
async fn commit(git: &Git) -> Result<String, GitError> {
    let steps: [&[&str]; 5] = [
        // No template of the user's brings hooks along.
        &["init", "--quiet", "--template=", "--initial-branch=main"],
        &["config", "user.name", "Bosun demo"],
        &["config", "user.email", "demo@localhost"],
        &["add", "--all"],
        &["commit", "--quiet", "--message", "The sample, with three tests that fail"],
    ];
    for step in steps {
        git.text(step).await?;
    }
    git.text(&["rev-parse", "HEAD"]).await
}
