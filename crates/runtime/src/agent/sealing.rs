//! Seals a task's checkout before its activation ends, however it ends.

use kernel::{RunEnding, RunUpdate};
use protocol::FailKind;

use super::AgentRun;
use crate::supervisor::InputRejection;

impl AgentRun {
    /// Seals the checkout. If that fails, the work stays in the checkout, and the ending reports an error.
    pub(super) async fn seal_work(&mut self, ending: RunEnding) -> Result<RunEnding, InputRejection> {
        let Some(checkout) = self.workplace.task_workspaces.checkout(self.link.run.task) else {
            return Ok(ending);
        };
        let sealed = match checkout.seal().await {
            Ok(sealed) => sealed,
            Err(error) => return Ok(with_seal_error(ending, &error, &checkout.workspace.cwd().display().to_string())),
        };
        if !sealed.is_whole {
            tracing::warn!(run = %self.link.run, "a checkout contains nested repositories, which are not in its commit");
        }
        let report = RunUpdate::WorkSealed { commit: sealed.commit.to_string(), files: sealed.files };
        self.report(report).await?;
        self.catch_up();
        Ok(ending)
    }
}

fn with_seal_error(ending: RunEnding, error: &git::GitError, path: &str) -> RunEnding {
    let why = format!("its work could not be saved as a commit and remains in {path}: {error}");
    match ending {
        RunEnding::Completed => RunEnding::Failed { kind: FailKind::Internal, message: why },
        RunEnding::Failed { kind, message } => RunEnding::Failed { kind, message: format!("{message}; {why}") },
        // The ending itself matters more than the failed seal.
        ended @ (RunEnding::TimedOut(_) | RunEnding::BudgetExhausted) => {
            tracing::warn!(why, "the work of a task that ended early was not saved");
            ended
        }
    }
}
