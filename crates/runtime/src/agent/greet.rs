//! The beginning and the end of an activation, as hooks are told of them.

use hooks::Occasion;
use kernel::{Ending, Input, Point, Refusal, Report};
use protocol::{FailKind, Holder};

use super::AgentRun;
use super::run::Step;
use crate::hooks::tell;
use crate::supervisor::Rejected;

impl AgentRun {
    /// Tells hooks that the activation begins, unless an earlier attempt did. A no ends it.
    pub(super) async fn greet(&mut self) -> Result<Step, Rejected> {
        let run = self.link.run;
        if self.is_greeted() || !self.desk.is_attended(run.task) {
            return Ok(Step::On);
        }
        let (mut context, denied) = if self.desk.is_root(run.task) {
            (self.desk.listeners.take_context(), None)
        } else {
            let verdict = tell(&self.desk, run, Occasion::Start).await;
            let denied = verdict.denied().map(str::to_owned);
            (verdict.context, denied)
        };
        context.retain(|text| !text.trim().is_empty());
        let greeted = Report::Greeted(context);
        let Some(reason) = denied else {
            self.report(greeted).await?;
            self.catch_up();
            return Ok(Step::On);
        };
        let message = format!("a hook did not let the agent begin: {reason}");
        self.tell_denied(&message).await;
        let ending = Ending::Failed { kind: FailKind::Denied, message };
        // One commit for all: no attempt may find it greeted and not ended. Mail that is not heard would wake it again.
        let reports = [greeted, Report::Boundary(Point::Between), Report::Ended { ending, text: String::new() }];
        let inputs = reports.map(|report| Input::Report(run, report));
        self.link.supervisor.submit_all(inputs).await.map(|()| Step::Over)
    }

    /// Tells hooks that the call which started the agent was denied, as they are told of any other.
    async fn tell_denied(&self, reason: &str) {
        let started = |known: &crate::roster::Known| {
            let input = serde_json::json!({ "agent_type": known.spec.agent, "name": known.spec.name });
            known.spec.call.clone().zip(known.spec.parent).map(|(id, parent)| (id, parent, input.to_string()))
        };
        let Some((id, parent, input)) = self.desk.roster.known(self.link.run.task, started).flatten() else { return };
        let parent = self.link.supervisor.look(move |kernel| kernel.task(parent).map(kernel::Task::run)).await;
        let Ok(Some(run)) = parent else { return };
        let call = ::hooks::ToolUse { id, tool: "task".into(), input };
        let _heard = tell(&self.desk, run, Occasion::PermissionDenied { call, reason: reason.to_owned() }).await;
    }

    /// Tells hooks that the activation would end with an answer; whether they keep it from that. They cannot while the
    /// agent is being stopped, nor while agents of its own are at work, whose results will wake it anyway.
    pub(super) async fn is_held(&mut self) -> Result<bool, Rejected> {
        if !self.is_greeted() {
            return Ok(false);
        }
        let run = self.link.run;
        let again = self.parting || self.look(|task, _| task.holds > 0).await?;
        self.parting = true;
        let said = self.conversation.said().to_owned();
        let stop = Occasion::Stop { reason: "completed".into(), said, again };
        let verdict = tell(&self.desk, run, stop).await;
        self.catch_up();
        let Some(reason) = verdict.denied() else { return Ok(false) };
        let is_awaiting = self.look(|task, kernel| task.children.iter().any(|child| is_busy(kernel, *child))).await?;
        if is_awaiting || self.stopping {
            return Ok(false);
        }
        let held = Report::Held { by: Holder::Hook, reason: reason.to_owned() };
        match self.report(held).await {
            Ok(()) => Ok(true),
            Err(Rejected::Refused(Refusal::Holds { cap })) => {
                tracing::warn!(%run, cap, "hooks kept an agent from ending as often as they may");
                Ok(false)
            }
            Err(rejected) => Err(rejected),
        }
    }

    /// Ends the activation with its answer, hooks having been told of it if they were told of its start.
    pub(super) async fn complete(&mut self) -> Result<Step, Rejected> {
        if !self.is_greeted() {
            return self.end(Ending::Completed).await;
        }
        let run = self.link.run;
        let part = Input::Part { task: run.task, activation: run.activation };
        let ending = self.sealed(Ending::Completed).await?;
        if ending != Ending::Completed {
            return self.end_sealed(ending).await;
        }
        let text = self.conversation.said().to_owned();
        let end = Input::Report(run, Report::Ended { ending, text });
        // In this order, in one commit: whoever sees the end sees that hooks know of it.
        self.link.supervisor.submit_all([part, end]).await.map(|()| Step::Over)
    }

    pub(super) fn is_greeted(&self) -> bool {
        self.conversation.greeted() == Some(self.link.run.activation)
    }

    async fn look(
        &self,
        look: impl FnOnce(&kernel::Task, &kernel::Kernel) -> bool + Send + 'static,
    ) -> Result<bool, Rejected> {
        let task = self.link.run.task;
        let look = move |kernel: &kernel::Kernel| kernel.task(task).is_some_and(|task| look(task, kernel));
        self.link.supervisor.look(look).await
    }
}

fn is_busy(kernel: &kernel::Kernel, task: protocol::TaskId) -> bool {
    kernel.task(task).is_some_and(|task| task.phase.is_busy())
}
