//! Waits for a command to succeed: a command of the runtime's runs it again and again, and no model is asked meanwhile.

use kernel::{CallPhase, KernelInput, TaskSpawn};
use protocol::{CancelBy, CancelMode, Clip, TaskId, TaskMode, TaskSpec, TaskType, WaitEnd};
use tools::{ToolError, WaitUntilRequest};

use super::{AgentSubagents, tool_error};

impl AgentSubagents {
    pub(super) async fn until_it_succeeds(&self, order: WaitUntilRequest) -> Result<String, ToolError> {
        let over = self.caller.waits.register(&self.caller.call);
        let task = match self.caller.phase().await.map_err(ToolError::broken)? {
            Some(CallPhase::Waited { on, .. }) => on.first().copied(),
            Some(CallPhase::Waiting(wait)) => {
                let _why = over.await;
                wait.on.first().copied()
            }
            Some(_) | None => {
                let task = self.start_watch(&order).await?;
                let _why = over.await;
                Some(task)
            }
        };
        let task = task.ok_or_else(|| ToolError::refused("the command is gone"))?;
        let command = Clip::new(&order.command, 200);
        if let Some(CallPhase::Waited { why: WaitEnd::Promoted, .. }) =
            self.caller.phase().await.map_err(ToolError::broken)?
        {
            return Ok(format!(
                "The user sent the watch on `{command}` to the background: its end reaches you by itself."
            ));
        }
        match self.state(task).await? {
            "completed" => Ok(format!("`{command}` succeeded")),
            "running" | "queued" => {
                let stop = KernelInput::Cancel { task, by: CancelBy::Agent, how: CancelMode::Abort };
                self.caller.supervisor.submit(stop).await.map_err(tool_error)?;
                Ok(format!("`{command}` did not succeed within {} s", order.time.as_secs()))
            }
            state => Err(ToolError::refused(format!("the watch on `{command}` ended ({state}); start it again"))),
        }
    }

    async fn start_watch(&self, order: &WaitUntilRequest) -> Result<TaskId, ToolError> {
        // The command stands in a shell of its own, so that an `exit` in it does not end the watch.
        let quoted = order.command.replace('\'', r"'\''");
        let (shell, pause) = (tools::full_shell(), order.every.as_secs());
        let prompt = format!("until {shell} -c '{quoted}'; do sleep {pause}; done");
        let spec = TaskSpec {
            parent: Some(self.caller_task()),
            description: format!("until `{}` succeeds", Clip::new(&order.command, 150)),
            mode: TaskMode::Sync,
            ..TaskSpec::new(TaskType::Shell, "shell", "until")
        };
        let id = TaskId::new(self.context.settings.ids.uuid());
        let by = Some((self.caller.run, self.caller.turn, self.caller.call.clone()));
        let until = Some(self.context.settings.clock.now().plus(order.time));
        let spawn = TaskSpawn { id, spec, prompt, by, until, definition: None };
        self.caller.supervisor.submit(KernelInput::Spawn(spawn)).await.map_err(tool_error)?;
        Ok(id)
    }
}
