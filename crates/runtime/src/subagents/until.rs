//! Waits for a command to succeed: a monitor runs it repeatedly, without model requests meanwhile.

use kernel::{CallPhase, KernelInput};
use protocol::{CancelBy, CancelMode, Clip, TaskId, WaitEnd};
use tools::{ToolError, WaitUntilRequest};

use super::{AgentSubagents, tool_error};
use crate::spawn::SpawnBuilder;

impl AgentSubagents {
    pub(super) async fn wait_until_success(&self, request: WaitUntilRequest) -> Result<String, ToolError> {
        let wait_end = self.caller.waits.register(&self.caller.call);
        let task = match self.caller.phase().await.map_err(ToolError::failed)? {
            Some(CallPhase::Waited { on, .. }) => on.first().copied(),
            Some(CallPhase::Waiting(wait)) => {
                let _why = wait_end.await;
                wait.awaited.first().copied()
            }
            Some(_) | None => {
                let task = self.start_watch(&request).await?;
                let _why = wait_end.await;
                Some(task)
            }
        };
        let task = task.ok_or_else(|| ToolError::refused("the command is gone"))?;
        let command = Clip::new(&request.command, 200);
        if let Some(CallPhase::Waited { why: WaitEnd::Promoted, .. }) =
            self.caller.phase().await.map_err(ToolError::failed)?
        {
            return Ok(format!(
                "The user sent the watch on `{command}` to the background: you will be told when it ends."
            ));
        }
        match self.state(task).await? {
            "completed" => Ok(format!("`{command}` succeeded")),
            "running" | "queued" => {
                let stop = KernelInput::Cancel { task, by: CancelBy::Agent, how: CancelMode::Abort };
                self.caller.supervisor.submit(stop).await.map_err(tool_error)?;
                Ok(format!("`{command}` did not succeed within {} s", request.timeout.as_secs()))
            }
            state => Err(ToolError::refused(format!("the watch on `{command}` ended ({state}); start it again"))),
        }
    }

    async fn start_watch(&self, request: &WaitUntilRequest) -> Result<TaskId, ToolError> {
        let until = self.context.facts.clock.now().plus(request.timeout);
        let spawn = SpawnBuilder::monitor(request.command.clone(), request.interval)
            .called_by(&self.caller)
            .describe(&format!("until `{}` succeeds", Clip::new(&request.command, 150)))
            .awaited_until(until)
            .build(&self.context);
        let id = spawn.id;
        self.caller.supervisor.submit(KernelInput::Spawn(spawn)).await.map_err(tool_error)?;
        Ok(id)
    }
}
