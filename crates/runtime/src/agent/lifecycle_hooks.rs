//! The beginning and the end of an activation, as hooks are told of them.

use hooks::HookEventData;
use kernel::{BoundaryPoint, InputRefusal, KernelInput, RunEnding, RunUpdate};
use protocol::{FailKind, StopBlocker};

use super::AgentRun;
use super::run::StepOutcome;
use crate::hooks::run_hooks;
use crate::supervisor::InputRejection;

impl AgentRun {
    /// Tells hooks that the activation begins, unless an earlier attempt did. A no ends it.
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
        let greeted = RunUpdate::StartHooksRan(context);
        let Some(reason) = denied else {
            self.report(greeted).await?;
            self.catch_up();
            return Ok(StepOutcome::Continue);
        };
        let message = format!("a hook did not let the agent begin: {reason}");
        self.tell_denied(&message).await;
        let ending = RunEnding::Failed { kind: FailKind::Denied, message };
        // One commit for all: no attempt may find it greeted and not ended. Mail that is not heard would wake it again.
        let reports =
            [greeted, RunUpdate::Boundary(BoundaryPoint::Between), RunUpdate::Ended { ending, text: String::new() }];
        let inputs = reports.map(|report| KernelInput::Report(run, report));
        self.link.supervisor.submit_all(inputs).await.map(|()| StepOutcome::Stop)
    }

    /// Tells hooks that the call which started the agent was denied, as they are told of any other.
    async fn tell_denied(&self, reason: &str) {
        let started = |known: &crate::roster::RosterEntry| {
            let input = serde_json::json!({ "agent_type": known.spec.agent, "name": known.spec.name });
            known.spec.call.clone().zip(known.spec.parent).map(|(id, parent)| (id, parent, input.to_string()))
        };
        let Some((id, parent, input)) = self.context.roster.with_task(self.link.run.task, started).flatten() else {
            return;
        };
        let parent =
            self.link.supervisor.query(move |kernel| kernel.task(parent).map(kernel::KernelTask::run_id)).await;
        let Ok(Some(run)) = parent else { return };
        let call = ::hooks::ToolUse { id, tool: "task".into(), input };
        let _heard =
            run_hooks(&self.context, run, HookEventData::PermissionDenied { call, reason: reason.to_owned() }).await;
    }

    /// Tells hooks that the activation would end with an answer; whether they keep it from that. They cannot while the
    /// agent is being stopped, nor while agents of its own are at work, whose results will wake it anyway.
    pub(super) async fn is_held_by_hooks(&mut self) -> Result<bool, InputRejection> {
        if !self.has_run_start_hooks() {
            return Ok(false);
        }
        let run = self.link.run;
        let again = self.has_run_stop_hooks || self.check_task(|task, _| task.stop_blocks > 0).await?;
        self.has_run_stop_hooks = true;
        let said = self.conversation.latest_text().to_owned();
        let stop = HookEventData::AgentStop { reason: "completed".into(), last_message: said, is_repeated: again };
        let verdict = run_hooks(&self.context, run, stop).await;
        self.catch_up();
        let Some(reason) = verdict.denial_reason() else { return Ok(false) };
        let is_awaiting =
            self.check_task(|task, kernel| task.children.iter().any(|child| is_busy(kernel, *child))).await?;
        if is_awaiting || self.stopping {
            return Ok(false);
        }
        let held = RunUpdate::StopBlocked { by: StopBlocker::Hook, reason: reason.to_owned() };
        match self.report(held).await {
            Ok(()) => Ok(true),
            Err(InputRejection::Refused(InputRefusal::StopBlockLimit { cap })) => {
                tracing::warn!(%run, cap, "hooks kept an agent from ending as often as they may");
                Ok(false)
            }
            Err(rejected) => Err(rejected),
        }
    }

    /// Ends the activation with its answer, hooks having been told of it if they were told of its start.
    pub(super) async fn complete(&mut self) -> Result<StepOutcome, InputRejection> {
        if !self.has_run_start_hooks() {
            return self.end(RunEnding::Completed).await;
        }
        let run = self.link.run;
        let part = KernelInput::StopHooksRan { task: run.task, activation: run.activation };
        let ending = self.seal_work(RunEnding::Completed).await?;
        if ending != RunEnding::Completed {
            return self.end_sealed(ending).await;
        }
        let text = self.conversation.latest_text().to_owned();
        let end = KernelInput::Report(run, RunUpdate::Ended { ending, text });
        // In this order, in one commit: whoever sees the end sees that hooks know of it.
        self.link.supervisor.submit_all([part, end]).await.map(|()| StepOutcome::Stop)
    }

    pub(super) fn has_run_start_hooks(&self) -> bool {
        self.conversation.start_hooks_ran() == Some(self.link.run.activation)
    }

    async fn check_task(
        &self,
        look: impl FnOnce(&kernel::KernelTask, &kernel::Kernel) -> bool + Send + 'static,
    ) -> Result<bool, InputRejection> {
        let task = self.link.run.task;
        let look = move |kernel: &kernel::Kernel| kernel.task(task).is_some_and(|task| look(task, kernel));
        self.link.supervisor.query(look).await
    }
}

fn is_busy(kernel: &kernel::Kernel, task: protocol::TaskId) -> bool {
    kernel.task(task).is_some_and(|task| task.phase.is_busy())
}
