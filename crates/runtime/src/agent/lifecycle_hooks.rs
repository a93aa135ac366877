//! Hooks at the start and the end of an activation.

use hooks::HookEventData;
use kernel::{BoundaryPoint, InputRefusal, RunEnding, RunUpdate};
use protocol::{FailKind, StopBlocker};

use super::AgentRun;
use super::run::StepOutcome;
use crate::run_requests::RunInput;
use crate::supervisor::InputRejection;

impl AgentRun {
    /// Runs the start hooks, unless an earlier attempt did. A denial ends the activation.
    pub(super) async fn run_start_hooks(&mut self) -> Result<StepOutcome, InputRejection> {
        if self.has_run_start_hooks() {
            return Ok(StepOutcome::Continue);
        }
        let Some(verdict) = self.session().run_start_hooks().await else { return Ok(StepOutcome::Continue) };
        let denied = verdict.denial_reason().map(str::to_owned);
        let mut context = verdict.context;
        context.retain(|text| !text.trim().is_empty());
        let hooks_ran = RunUpdate::StartHooksRan(context);
        let Some(reason) = denied else {
            self.report(hooks_ran).await?;
            self.catch_up();
            return Ok(StepOutcome::Continue);
        };
        let message = format!("a hook prevented the agent from starting: {reason}");
        self.session().report_denied_start(message.clone()).await;
        let ending = RunEnding::Failed { kind: FailKind::Denied, message };
        // One commit for all, so that no later attempt finds start hooks that ran but no end. Mail is read first,
        // because unread mail would wake the task again.
        let reports = [
            hooks_ran,
            RunUpdate::Boundary(BoundaryPoint::BetweenTurns),
            RunUpdate::Ended { ending, text: String::new() },
        ];
        self.session().submit_all(reports.map(RunInput::Update)).await.map(|()| StepOutcome::Stop)
    }

    /// Runs the stop hooks; returns whether one keeps the activation from ending. They cannot block the end of
    /// an agent that is being stopped or has busy subagents: the subagents' results will wake it anyway.
    pub(super) async fn run_stop_hooks(&mut self) -> Result<bool, InputRejection> {
        if !self.has_run_start_hooks() {
            return Ok(false);
        }
        let run = self.link.run;
        let is_repeated = self.has_run_stop_hooks || self.session().progress().await?.stop_blocks > 0;
        self.has_run_stop_hooks = true;
        let last_message = self.conversation.latest_text().to_owned();
        let stop = HookEventData::AgentStop { reason: "completed".into(), last_message, is_repeated };
        let verdict = self.session().run_hooks(stop).await;
        self.catch_up();
        let Some(reason) = verdict.denial_reason() else { return Ok(false) };
        if self.session().progress().await?.has_busy_children || self.stopping {
            return Ok(false);
        }
        let blocked = RunUpdate::StopBlocked { by: StopBlocker::Hook, reason: reason.to_owned() };
        match self.report(blocked).await {
            Ok(()) => Ok(true),
            Err(InputRejection::Refused(InputRefusal::StopBlockLimit { cap })) => {
                tracing::warn!(%run, cap, "hooks reached the limit for keeping an agent from ending");
                Ok(false)
            }
            Err(rejected) => Err(rejected),
        }
    }

    /// Ends the activation with its answer. If start hooks ran, the end records that stop hooks ran.
    pub(super) async fn complete(&mut self) -> Result<StepOutcome, InputRejection> {
        if !self.has_run_start_hooks() {
            return self.end(RunEnding::Completed).await;
        }
        let ending = self.seal_work(RunEnding::Completed).await?;
        if ending != RunEnding::Completed {
            return self.end_sealed(ending).await;
        }
        let text = self.conversation.latest_text().to_owned();
        let end = RunInput::Update(RunUpdate::Ended { ending, text });
        // In this order, in one commit: a reader that sees the end also sees that the stop hooks ran.
        self.session().submit_all([RunInput::StopHooksRan, end]).await.map(|()| StepOutcome::Stop)
    }

    pub(super) fn has_run_start_hooks(&self) -> bool {
        self.conversation.start_hooks_ran() == Some(self.link.run.activation)
    }
}
