//! What is expected of an agent's result is looked at when the agent says that it is done.

use std::sync::Arc;

use kernel::{InputRefusal, RunEnding, RunUpdate};
use protocol::{FailKind, StopBlocker};

use super::AgentRun;
use super::run::{InterruptibleOutcome, StepOutcome};
use crate::expectations::{self, ExpectationOutcome};
use crate::prompt;
use crate::supervisor::InputRejection;

impl AgentRun {
    /// Looks whether what is expected of the task holds. Tells how the run goes on if it does not; nothing when the
    /// activation may end.
    pub(super) async fn check_expectations(&mut self) -> Result<Option<StepOutcome>, InputRejection> {
        let (context, task) = (Arc::clone(&self.context), self.link.run.task);
        let Some(expected) = context.roster.with_task(task, |known| known.spec.expects.clone()).flatten() else {
            return Ok(None);
        };
        let said = self.conversation.latest_text().to_owned();
        let look = expectations::check_result(&context, self.link.run, &expected, &said);
        match self.before_deadline(|_conversation| true, look).await {
            Some(InterruptibleOutcome::Finished(ExpectationOutcome::Met)) => Ok(None),
            Some(InterruptibleOutcome::Finished(ExpectationOutcome::Missing(missing))) => {
                self.request_repair(&missing).await.map(Some)
            }
            Some(InterruptibleOutcome::Finished(ExpectationOutcome::Uncheckable(words))) => {
                self.fail_contract(words).await.map(Some)
            }
            // The next turn is the last, and says what there is.
            Some(InterruptibleOutcome::Interrupted) | None => {
                self.request_repair("- the time was up before it could be looked at").await.map(Some)
            }
        }
    }

    /// Lets the agent bring what is missing, as often as it may try.
    async fn request_repair(&mut self, missing: &str) -> Result<StepOutcome, InputRejection> {
        let reason = format!("{}{missing}", prompt::UNMET);
        match self.report(RunUpdate::StopBlocked { by: StopBlocker::Expects, reason }).await {
            Ok(()) => {
                self.catch_up();
                Ok(StepOutcome::Continue)
            }
            Err(InputRejection::Refused(InputRefusal::StopBlockLimit { .. })) => {
                self.fail_contract(missing.to_owned()).await
            }
            Err(rejected) => Err(rejected),
        }
    }

    async fn fail_contract(&mut self, missing: String) -> Result<StepOutcome, InputRejection> {
        let message = format!("what was expected of it does not hold:\n{missing}");
        self.end(RunEnding::Failed { kind: FailKind::Contract, message }).await
    }
}
