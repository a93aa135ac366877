//! What is expected of an agent's result is looked at when the agent says that it is done.

use std::sync::Arc;

use kernel::{Ending, Refusal, Report};
use protocol::{FailKind, Holder};

use super::AgentRun;
use super::run::{Broken, Step};
use crate::expects::{self, Finding};
use crate::prompt;
use crate::supervisor::Rejected;

impl AgentRun {
    /// Looks whether what is expected of the task holds. Tells how the run goes on if it does not; nothing when the
    /// activation may end.
    pub(super) async fn contract(&mut self) -> Result<Option<Step>, Rejected> {
        let (desk, task) = (Arc::clone(&self.desk), self.link.run.task);
        let Some(expected) = desk.roster.known(task, |known| known.spec.expects.clone()).flatten() else {
            return Ok(None);
        };
        let said = self.conversation.said().to_owned();
        let look = expects::look(&desk, self.link.run, &expected, &said);
        match self.in_time(|_conversation| true, look).await {
            Some(Broken::Done(Finding::Met)) => Ok(None),
            Some(Broken::Done(Finding::Missing(missing))) => self.repair(&missing).await.map(Some),
            Some(Broken::Done(Finding::Hopeless(words))) => self.breach(words).await.map(Some),
            // The next turn is the last, and says what there is.
            Some(Broken::Off) | None => self.repair("- the time was up before it could be looked at").await.map(Some),
        }
    }

    /// Lets the agent bring what is missing, as often as it may try.
    async fn repair(&mut self, missing: &str) -> Result<Step, Rejected> {
        let reason = format!("{}{missing}", prompt::UNMET);
        match self.report(Report::Held { by: Holder::Expects, reason }).await {
            Ok(()) => {
                self.catch_up();
                Ok(Step::On)
            }
            Err(Rejected::Refused(Refusal::Holds { .. })) => self.breach(missing.to_owned()).await,
            Err(rejected) => Err(rejected),
        }
    }

    async fn breach(&mut self, missing: String) -> Result<Step, Rejected> {
        let message = format!("what was expected of it does not hold:\n{missing}");
        self.end(Ending::Failed { kind: FailKind::Contract, message }).await
    }
}
