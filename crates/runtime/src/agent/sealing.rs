//! What a task made in a checkout of its own is kept before its activation ends, however it ends.

use kernel::{Ending, Report};
use protocol::FailKind;

use super::AgentRun;
use crate::supervisor::Rejected;

impl AgentRun {
    /// Keeps what was made. Work that cannot be kept is not complete: it stays where it is, and the end says so.
    pub(super) async fn sealed(&mut self, ending: Ending) -> Result<Ending, Rejected> {
        let Some(own) = self.desk.sites.own(self.link.run.task) else { return Ok(ending) };
        let sealed = match own.seal().await {
            Ok(sealed) => sealed,
            Err(error) => return Ok(unkept(ending, &error, &own.site.cwd().display().to_string())),
        };
        if !sealed.is_whole {
            tracing::warn!(run = %self.link.run, "a checkout holds repositories of its own, which are not in its commit");
        }
        let report = Report::Sealed { commit: sealed.commit.to_string(), files: sealed.files };
        self.report(report).await?;
        self.catch_up();
        Ok(ending)
    }
}

fn unkept(ending: Ending, error: &git::GitError, path: &str) -> Ending {
    let why = format!("what it made could not be kept as a commit and is left in {path}: {error}");
    match ending {
        Ending::Completed => Ending::Failed { kind: FailKind::Internal, message: why },
        Ending::Failed { kind, message } => Ending::Failed { kind, message: format!("{message}; {why}") },
        // How it ended says more than what became of its work.
        ended @ (Ending::TimedOut(_) | Ending::BudgetExhausted) => {
            tracing::warn!(why, "work of a task that ended early was not kept");
            ended
        }
    }
}
