//! Waits for agents and background commands. No model is asked meanwhile, and the slot is free.

use kernel::Kernel;
use protocol::TaskId;
use tools::{ToolError, WaitRequest};

use super::{AgentSubagents, tool_error};
use crate::prompt;

impl AgentSubagents {
    pub(super) async fn wait_for(&self, order: WaitRequest) -> Result<String, ToolError> {
        let on = if order.on.is_empty() { self.busy_children().await? } else { self.find_named(&order.on)? };
        if on.is_empty() {
            return Ok("nothing is under way".into());
        }
        let until = order.time.map(|time| self.context.settings.clock.now().plus(time));
        self.caller.wait(on.clone(), order.mode, until).await.map_err(tool_error)?;
        let mut lines = Vec::new();
        for task in on {
            lines.push(format!("{}: {}", self.context.roster.path(task), self.state(task).await?));
        }
        let lines = prompt::quote(&lines.join("\n"));
        Ok(format!("{lines}\nResults of background work come as messages of their own."))
    }

    fn find_named(&self, names: &[String]) -> Result<Vec<TaskId>, ToolError> {
        names.iter().map(|name| self.find_below(name)).collect()
    }

    async fn busy_children(&self) -> Result<Vec<TaskId>, ToolError> {
        let own = self.caller_task();
        let look = move |kernel: &Kernel| {
            let children = kernel.task(own).into_iter().flat_map(|task| &task.children);
            children.filter(|id| kernel.task(**id).is_some_and(|task| task.phase.is_busy())).copied().collect()
        };
        self.caller.supervisor.query(look).await.map_err(ToolError::broken)
    }
}
