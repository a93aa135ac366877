//! The sample as a git repository: its first commit, and the work of the fleet.

use git::{Git, GitError};

/// The sample's history.
#[derive(Debug)]
pub(super) struct SampleHistory {
    git: Git,
    /// The commit that the fleet started from.
    base: String,
}

impl SampleHistory {
    /// Makes the folder of `git` a repository with one commit of all its files, or returns why that failed.
    pub(super) async fn begin(git: Git) -> Result<SampleHistory, String> {
        let version = git.text(&["--version"]).await.map_err(|error| error.to_string())?;
        let version = version.trim_start_matches("git version ");
        if config::is_git_too_old(version) {
            return Err(format!("git {version} is too old; install git 2.38 or newer"));
        }
        let base = commit(&git).await.map_err(|error| error.to_string())?;
        Ok(SampleHistory { git, base })
    }

    /// Returns the commits as a graph.
    pub(super) async fn graph(&self) -> Result<String, GitError> {
        self.git.text(&["log", "--graph", "--oneline", "--no-color", "--no-decorate"]).await
    }

    /// Returns the diff since the first commit.
    pub(super) async fn changes(&self) -> Result<String, GitError> {
        self.git.text(&["diff", "--no-color", "--no-ext-diff", &self.base, "HEAD"]).await
    }
}

/// Commits everything with an identity local to this repository; returns the commit id.
async fn commit(git: &Git) -> Result<String, GitError> {
    let steps: [&[&str]; 5] = [
        // No template of the user, which could bring hooks.
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
