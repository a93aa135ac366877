//! Waits for agents and background commands, without model requests and without a slot meanwhile.

use kernel::Kernel;
use protocol::TaskId;
use tools::{ToolError, WaitRequest};

use super::{AgentSubagents, tool_error};
use crate::prompt;

impl AgentSubagents {
    pub(super) async fn wait_for(&self, request: WaitRequest) -> Result<String, ToolError> {
        let tasks =
            if request.targets.is_empty() { self.busy_children().await? } else { self.find_named(&request.targets)? };
        if tasks.is_empty() {
            return Ok("nothing is running".into());
        }
        let until = request.timeout.map(|time| self.context.facts.clock.now().plus(time));
        self.caller.wait(tasks.clone(), request.mode, until).await.map_err(tool_error)?;
        let mut lines = Vec::new();
        for task in tasks {
            lines.push(format!("{}: {}", self.context.log.roster.path(task), self.state(task).await?));
        }
        let lines = prompt::quote(&lines.join("\n"));
        Ok(format!("{lines}\nResults of background work arrive as separate messages."))
    }

    fn find_named(&self, names: &[String]) -> Result<Vec<TaskId>, ToolError> {
        names.iter().map(|name| self.find_below(name)).collect()
    }

    async fn busy_children(&self) -> Result<Vec<TaskId>, ToolError> {
        let own = self.caller_task();
        let query = move |kernel: &Kernel| {
            let children = kernel.task(own).into_iter().flat_map(|task| &task.children);
            children.filter(|id| kernel.task(**id).is_some_and(|task| task.phase.is_busy())).copied().collect()
        };
        self.caller.supervisor.query(query).await.map_err(ToolError::failed)
    }
}
