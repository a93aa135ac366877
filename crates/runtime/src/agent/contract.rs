//! Checks the expectations of a task when its agent reports that it is done.

use std::sync::Arc;

use kernel::{InputRefusal, RunEnding, RunUpdate};
use protocol::{FailKind, StopBlocker};

use super::AgentRun;
use super::run::{InterruptibleOutcome, StepOutcome};
use crate::expectations::{ExpectationCheck, ExpectationOutcome};
use crate::prompt;
use crate::supervisor::InputRejection;

impl AgentRun {
    /// Checks the expectations of the task. Returns the next step if one is not met; nothing if the activation may end.
    pub(super) async fn check_expectations(&mut self) -> Result<Option<StepOutcome>, InputRejection> {
        let spec = Arc::clone(&self.profile.spec);
        let Some(expected) = &spec.expects else { return Ok(None) };
        let answer = self.conversation.latest_text().to_owned();
        let (session, workplace) = (Arc::clone(&self.link.session), Arc::clone(&self.workplace));
        let (agent, memory) = (Arc::clone(&self.agent), Arc::clone(&self.memory));
        let check = ExpectationCheck {
            session: &*session,
            workplace: &workplace,
            workspace: &agent.task_workspace,
            memory: &memory,
        };
        let check = check.check_result(expected, &answer);
        match self.before_deadline(|_conversation| true, check).await {
            Some(InterruptibleOutcome::Finished(ExpectationOutcome::Met)) => Ok(None),
            Some(InterruptibleOutcome::Finished(ExpectationOutcome::Unmet(missing))) => {
                self.request_missing(&missing).await.map(Some)
            }
            Some(InterruptibleOutcome::Finished(ExpectationOutcome::Uncheckable(reason))) => {
                self.fail_expectations(reason).await.map(Some)
            }
            // The next turn is the last one, in which the agent reports what it has.
            Some(InterruptibleOutcome::Interrupted) | None => {
                self.request_missing("- the time was up before it could be checked").await.map(Some)
            }
        }
    }

    /// Tells the agent what is missing; fails the activation at the limit of tries.
    async fn request_missing(&mut self, missing: &str) -> Result<StepOutcome, InputRejection> {
        let reason = format!("{}{missing}", prompt::UNMET);
        match self.report(RunUpdate::StopBlocked { by: StopBlocker::Expects, reason }).await {
            Ok(()) => {
                self.catch_up();
                Ok(StepOutcome::Continue)
            }
            Err(InputRejection::Refused(InputRefusal::StopBlockLimit { .. })) => {
                self.fail_expectations(missing.to_owned()).await
            }
            Err(rejected) => Err(rejected),
        }
    }

    async fn fail_expectations(&mut self, missing: String) -> Result<StepOutcome, InputRejection> {
        let message = format!("its result does not meet the expectations:\n{missing}");
        self.end(RunEnding::Failed { kind: FailKind::Contract, message }).await
    }
}
