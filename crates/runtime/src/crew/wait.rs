//! Waits for agents and background commands. No model is asked meanwhile, and the slot is free.

use kernel::Kernel;
use protocol::TaskId;
use tools::{ToolError, WaitOrder};

use super::{Crew, refused};
use crate::prompt;

impl Crew {
    pub(super) async fn wait_for(&self, order: WaitOrder) -> Result<String, ToolError> {
        let on = if order.on.is_empty() { self.under_way().await? } else { self.named(&order.on)? };
        if on.is_empty() {
            return Ok("nothing is under way".into());
        }
        let until = order.time.map(|time| self.desk.settings.clock.now().plus(time));
        self.caller.wait(on.clone(), order.mode, until).await.map_err(refused)?;
        let mut lines = Vec::new();
        for task in on {
            lines.push(format!("{}: {}", self.desk.roster.path(task), self.state(task).await?));
        }
        let lines = prompt::quote(&lines.join("\n"));
        Ok(format!("{lines}\nResults of background work come as messages of their own."))
    }

    fn named(&self, names: &[String]) -> Result<Vec<TaskId>, ToolError> {
        names.iter().map(|name| self.find_below(name)).collect()
    }

    async fn under_way(&self) -> Result<Vec<TaskId>, ToolError> {
        let own = self.own();
        let look = move |kernel: &Kernel| {
            let children = kernel.task(own).into_iter().flat_map(|task| &task.children);
            children.filter(|id| kernel.task(**id).is_some_and(|task| task.phase.is_busy())).copied().collect()
        };
        self.caller.supervisor.look(look).await.map_err(ToolError::broken)
    }
}
