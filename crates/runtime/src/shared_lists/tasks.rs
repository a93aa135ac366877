//! Reads the output of tasks that work on items, and stops them.

use protocol::{CancelMode, TaskForm, WaitMode};
use tools::{ReadAgentRequest, Subagents as _, ToolError, WaitLimit};

use super::AgentItemList;

impl AgentItemList {
    pub(super) async fn task_output(&self, reference: String, wait: WaitLimit) -> Result<String, ToolError> {
        let task = self.find_task(&reference)?;
        let (context, caller) = (&self.subagents.context, &self.subagents.caller);
        if let WaitLimit::For(time) = wait {
            let until = context.facts.clock.now().plus(time);
            caller.wait(vec![task], WaitMode::All, Some(until)).await.map_err(ToolError::failed)?;
        }
        let read = move |kernel: &kernel::Kernel| {
            kernel.task(task).map(|task| (task.kind, task.phase.state().as_str(), task.phase.is_at_rest()))
        };
        let details = caller.supervisor.query(read).await.map_err(ToolError::failed)?;
        let (kind, state, is_at_rest) =
            details.ok_or_else(|| ToolError::refused(format!("Task not found: {reference}")))?;
        let status = match (is_at_rest, wait) {
            (true, _) => "success",
            (false, WaitLimit::For(_)) => "timeout",
            (false, WaitLimit::NoWait) => "not_ready",
        };
        let output = match kind.form() {
            TaskForm::Command => {
                let printed = client::command_output(
                    &context.facts.home,
                    context.facts.session,
                    task,
                    context.facts.tools.output_bytes,
                );
                format!("{} ({task}): {state}\n{printed}", context.log.roster.path(task))
            }
            TaskForm::Agent | TaskForm::Reported | TaskForm::Question => {
                self.subagents
                    .read(ReadAgentRequest { agent: task.to_string(), wait: WaitLimit::NoWait, since_turn: None })
                    .await?
            }
        };
        Ok(format!("retrieval_status: {status}\n{output}"))
    }

    pub(super) async fn stop_task(&self, reference: String) -> Result<String, ToolError> {
        let task = self.find_task(&reference)?;
        self.subagents.stop(task.to_string(), CancelMode::Abort).await
    }
}
