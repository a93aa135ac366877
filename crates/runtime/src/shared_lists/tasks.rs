//! Reads the output of tasks that work on items, and stops them.

use protocol::{CancelMode, TaskType, WaitMode};
use tools::{ReadAgentRequest, Subagents as _, ToolError, WaitLimit};

use super::AgentItemList;
use crate::background_commands;

impl AgentItemList {
    pub(super) async fn task_output(&self, given: String, wait: WaitLimit) -> Result<String, ToolError> {
        let task = self.find_task(&given)?;
        let (context, caller) = (&self.subagents.context, &self.subagents.caller);
        if let WaitLimit::For(time) = wait {
            let until = context.settings.clock.now().plus(time);
            caller.wait(vec![task], WaitMode::All, Some(until)).await.map_err(ToolError::broken)?;
        }
        let read = move |kernel: &kernel::Kernel| {
            kernel.task(task).map(|task| (task.kind, task.phase.state().as_str(), task.phase.is_at_rest()))
        };
        let found = caller.supervisor.query(read).await.map_err(ToolError::broken)?;
        let (kind, state, is_at_rest) = found.ok_or_else(|| ToolError::refused(format!("Task not found: {given}")))?;
        let status = match (is_at_rest, wait) {
            (true, _) => "success",
            (false, WaitLimit::For(_)) => "timeout",
            (false, WaitLimit::No) => "not_ready",
        };
        let output = match kind {
            TaskType::Shell => {
                let printed = background_commands::command_output(
                    &context.settings.home,
                    context.session,
                    task,
                    context.settings.tools.output,
                );
                format!("{} ({task}): {state}\n{printed}", context.roster.path(task))
            }
            TaskType::Main | TaskType::Agent => {
                self.subagents
                    .read(ReadAgentRequest { agent: task.to_string(), wait: WaitLimit::No, since_turn: None })
                    .await?
            }
        };
        Ok(format!("retrieval_status: {status}\n{output}"))
    }

    pub(super) async fn stop_task(&self, given: String) -> Result<String, ToolError> {
        let task = self.find_task(&given)?;
        self.subagents.stop(task.to_string(), CancelMode::Abort).await
    }
}
