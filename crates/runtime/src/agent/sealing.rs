//! What a task made in a checkout of its own is kept before its activation ends, however it ends.

use kernel::{RunEnding, RunUpdate};
use protocol::FailKind;

use super::AgentRun;
use crate::supervisor::InputRejection;

impl AgentRun {
    /// Keeps what was made. Work that cannot be kept is not complete: it stays where it is, and the end says so.
    pub(super) async fn seal_work(&mut self, ending: RunEnding) -> Result<RunEnding, InputRejection> {
        let Some(own) = self.context.task_workspaces.checkout(self.link.run.task) else { return Ok(ending) };
        let sealed = match own.seal().await {
            Ok(sealed) => sealed,
            Err(error) => return Ok(with_seal_error(ending, &error, &own.workspace.cwd().display().to_string())),
        };
        if !sealed.is_whole {
            tracing::warn!(run = %self.link.run, "a checkout holds repositories of its own, which are not in its commit");
        }
        let report = RunUpdate::WorkSealed { commit: sealed.commit.to_string(), files: sealed.files };
        self.report(report).await?;
        self.catch_up();
        Ok(ending)
    }
}

fn with_seal_error(ending: RunEnding, error: &git::GitError, path: &str) -> RunEnding {
    let why = format!("what it made could not be kept as a commit and is left in {path}: {error}");
    match ending {
        RunEnding::Completed => RunEnding::Failed { kind: FailKind::Internal, message: why },
        RunEnding::Failed { kind, message } => RunEnding::Failed { kind, message: format!("{message}; {why}") },
        // How it ended says more than what became of its work.
        ended @ (RunEnding::TimedOut(_) | RunEnding::BudgetExhausted) => {
            tracing::warn!(why, "work of a task that ended early was not kept");
            ended
        }
    }
}
