//! Seals a task's checkout before its activation ends, however it ends.

use kernel::{RunEnding, RunUpdate};
use protocol::FailKind;

use super::AgentRun;
use crate::run_requests::{WorkSeal, WorkSealError};
use crate::supervisor::InputRejection;

impl AgentRun {
    /// Seals the checkout. If that fails, the work stays in the checkout, and the ending reports an error.
    pub(super) async fn seal_work(&mut self, ending: RunEnding) -> Result<RunEnding, InputRejection> {
        if !self.profile.has_own_checkout() {
            return Ok(ending);
        }
        let WorkSeal { commit, files, is_whole } = match self.session().seal_work().await {
            Ok(Some(sealed)) => sealed,
            Ok(None) => return Ok(ending),
            Err(error) => return Ok(with_seal_error(ending, &error)),
        };
        if !is_whole {
            tracing::warn!(run = %self.link.run, "a checkout contains nested repositories, which are not in its commit");
        }
        self.report(RunUpdate::WorkSealed { commit, files }).await?;
        self.catch_up();
        Ok(ending)
    }
}

fn with_seal_error(ending: RunEnding, error: &WorkSealError) -> RunEnding {
    match ending {
        RunEnding::Completed => RunEnding::Failed { kind: FailKind::Internal, message: error.to_string() },
        RunEnding::Failed { kind, message } => RunEnding::Failed { kind, message: format!("{message}; {error}") },
        // The ending itself matters more than the failed seal.
        ended @ (RunEnding::TimedOut(_)
        | RunEnding::BudgetExhausted
        | RunEnding::CancelledByServer
        | RunEnding::Lost) => {
            tracing::warn!(%error, "the work of a task that ended early was not saved");
            ended
        }
    }
}
