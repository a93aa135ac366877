//! Hooks at the start and the end of an activation.

use hooks::HookEventData;
use kernel::{BoundaryPoint, InputRefusal, KernelInput, RunEnding, RunUpdate};
use protocol::{FailKind, StopBlocker};

use super::AgentRun;
use super::run::StepOutcome;
use crate::hooks::run_hooks;
use crate::supervisor::InputRejection;

impl AgentRun {
    /// Runs the start hooks, unless an earlier attempt did. A denial ends the activation.
    pub(super) async fn run_start_hooks(&mut self) -> Result<StepOutcome, InputRejection> {
        let run = self.link.run;
        if self.has_run_start_hooks() || !self.context.has_lifecycle_hooks(run.task) {
            return Ok(StepOutcome::Continue);
        }
        let (mut context, denied) = if self.context.is_root(run.task) {
            (self.context.session_hooks.take_context(), None)
        } else {
            let verdict = run_hooks(&self.context, run, HookEventData::AgentStart).await;
            let denied = verdict.denial_reason().map(str::to_owned);
            (verdict.context, denied)
        };
        context.retain(|text| !text.trim().is_empty());
        let hooks_ran = RunUpdate::StartHooksRan(context);
        let Some(reason) = denied else {
            self.report(hooks_ran).await?;
            self.catch_up();
            return Ok(StepOutcome::Continue);
        };
        let message = format!("a hook prevented the agent from starting: {reason}");
        self.run_denied_start_hooks(&message).await;
        let ending = RunEnding::Failed { kind: FailKind::Denied, message };
        // One commit for all, so that no later attempt finds start hooks that ran but no end. Mail is read first,
        // because unread mail would wake the task again.
        let reports = [
            hooks_ran,
            RunUpdate::Boundary(BoundaryPoint::BetweenTurns),
            RunUpdate::Ended { ending, text: String::new() },
        ];
        let inputs = reports.map(|report| KernelInput::Report(run, report));
        self.link.supervisor.submit_all(inputs).await.map(|()| StepOutcome::Stop)
    }

    /// Runs the permission-denied hooks for the call that started the agent.
    async fn run_denied_start_hooks(&self, reason: &str) {
        let start_call = |entry: &crate::roster::RosterEntry| {
            let input = serde_json::json!({ "agent_type": entry.spec.agent, "name": entry.spec.name });
            entry.spec.call.clone().zip(entry.spec.parent).map(|(id, parent)| (id, parent, input.to_string()))
        };
        let Some((id, parent, input)) = self.context.log.roster.with_task(self.link.run.task, start_call).flatten()
        else {
            return;
        };
        let parent =
            self.link.supervisor.query(move |kernel| kernel.task(parent).map(kernel::KernelTask::run_id)).await;
        let Ok(Some(run)) = parent else { return };
        let call = ::hooks::ToolUse { id, tool: protocol::tool_name::TASK.into(), input };
        let _verdict =
            run_hooks(&self.context, run, HookEventData::PermissionDenied { call, reason: reason.to_owned() }).await;
    }

    /// Runs the stop hooks; returns whether one keeps the activation from ending. They cannot block the end of
    /// an agent that is being stopped or has busy subagents: the subagents' results will wake it anyway.
    pub(super) async fn run_stop_hooks(&mut self) -> Result<bool, InputRejection> {
        if !self.has_run_start_hooks() {
            return Ok(false);
        }
        let run = self.link.run;
        let is_repeated = self.has_run_stop_hooks || self.check_task(|task, _| task.stop_blocks > 0).await?;
        self.has_run_stop_hooks = true;
        let last_message = self.conversation.latest_text().to_owned();
        let stop = HookEventData::AgentStop { reason: "completed".into(), last_message, is_repeated };
        let verdict = run_hooks(&self.context, run, stop).await;
        self.catch_up();
        let Some(reason) = verdict.denial_reason() else { return Ok(false) };
        let has_busy_children =
            self.check_task(|task, kernel| task.children.iter().any(|child| is_busy(kernel, *child))).await?;
        if has_busy_children || self.stopping {
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
        let run = self.link.run;
        let hooks_ran = KernelInput::StopHooksRan { task: run.task, activation: run.activation };
        let ending = self.seal_work(RunEnding::Completed).await?;
        if ending != RunEnding::Completed {
            return self.end_sealed(ending).await;
        }
        let text = self.conversation.latest_text().to_owned();
        let end = KernelInput::Report(run, RunUpdate::Ended { ending, text });
        // In this order, in one commit: a reader that sees the end also sees that the stop hooks ran.
        self.link.supervisor.submit_all([hooks_ran, end]).await.map(|()| StepOutcome::Stop)
    }

    pub(super) fn has_run_start_hooks(&self) -> bool {
        self.conversation.start_hooks_ran() == Some(self.link.run.activation)
    }

    async fn check_task(
        &self,
        check: impl FnOnce(&kernel::KernelTask, &kernel::Kernel) -> bool + Send + 'static,
    ) -> Result<bool, InputRejection> {
        let task = self.link.run.task;
        let check = move |kernel: &kernel::Kernel| kernel.task(task).is_some_and(|task| check(task, kernel));
        self.link.supervisor.query(check).await
    }
}

fn is_busy(kernel: &kernel::Kernel, task: protocol::TaskId) -> bool {
    kernel.task(task).is_some_and(|task| task.phase.is_busy())
}
