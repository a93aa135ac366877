//! The tasks that do items: what they said, and how they are stopped.

use protocol::{Cancel, Kind, WaitMode};
use tools::{Crew as _, ReadOrder, ToolError, Wait};

use super::Lists;
use crate::shells;

impl Lists {
    pub(super) async fn task_output(&self, given: String, wait: Wait) -> Result<String, ToolError> {
        let task = self.task(&given)?;
        let (desk, caller) = (&self.crew.desk, &self.crew.caller);
        if let Wait::For(time) = wait {
            let until = desk.settings.clock.now().plus(time);
            caller.wait(vec![task], WaitMode::All, Some(until)).await.map_err(ToolError::broken)?;
        }
        let look = move |kernel: &kernel::Kernel| {
            kernel.task(task).map(|task| (task.kind, task.phase.state().word(), task.phase.is_at_rest()))
        };
        let found = caller.supervisor.look(look).await.map_err(ToolError::broken)?;
        let (kind, state, rests) = found.ok_or_else(|| ToolError::refused(format!("Task not found: {given}")))?;
        let fetched = match (rests, wait) {
            (true, _) => "success",
            (false, Wait::For(_)) => "timeout",
            (false, Wait::No) => "not_ready",
        };
        let said = match kind {
            Kind::Shell => {
                let printed = shells::printed(&desk.settings.home, desk.session, task, desk.settings.tools.output);
                format!("{} ({task}): {state}\n{printed}", desk.roster.path(task))
            }
            Kind::Main | Kind::Agent => {
                self.crew.read(ReadOrder { agent: task.to_string(), wait: Wait::No, since_turn: None }).await?
            }
        };
        Ok(format!("retrieval_status: {fetched}\n{said}"))
    }

    pub(super) async fn stop_task(&self, given: String) -> Result<String, ToolError> {
        let task = self.task(&given)?;
        self.crew.stop(task.to_string(), Cancel::Abort).await
    }
}
