//! Checks the expectations of a task when its agent reports that it is done.

use std::sync::Arc;

use kernel::{InputRefusal, RunEnding, RunUpdate};
use protocol::{FailKind, StopBlocker};

use super::AgentRun;
use super::run::{InterruptibleOutcome, StepOutcome};
use crate::expectations::{self, ExpectationOutcome};
use crate::prompt;
use crate::supervisor::InputRejection;

impl AgentRun {
    /// Checks the expectations of the task. Returns the next step if one is not met; nothing if the activation may end.
    pub(super) async fn check_expectations(&mut self) -> Result<Option<StepOutcome>, InputRejection> {
        let (context, task) = (Arc::clone(&self.context), self.link.run.task);
        let Some(expected) = context.roster.with_task(task, |known| known.spec.expects.clone()).flatten() else {
            return Ok(None);
        };
        let answer = self.conversation.latest_text().to_owned();
        let check = expectations::check_result(&context, self.link.run, &expected, &answer);
        match self.before_deadline(|_conversation| true, check).await {
            Some(InterruptibleOutcome::Finished(ExpectationOutcome::Met)) => Ok(None),
            Some(InterruptibleOutcome::Finished(ExpectationOutcome::Missing(missing))) => {
                self.request_repair(&missing).await.map(Some)
            }
            Some(InterruptibleOutcome::Finished(ExpectationOutcome::Uncheckable(reason))) => {
                self.fail_contract(reason).await.map(Some)
            }
            // The next turn is the last and reports what there is.
            Some(InterruptibleOutcome::Interrupted) | None => {
                self.request_repair("- the time was up before it could be checked").await.map(Some)
            }
        }
    }

    /// Asks the agent for what is missing, until the limit of tries.
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
        let message = format!("its result does not meet the expectations:\n{missing}");
        self.end(RunEnding::Failed { kind: FailKind::Contract, message }).await
    }
}
