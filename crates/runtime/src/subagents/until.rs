//! Waits for a command to succeed: a background shell runs it repeatedly, without model requests meanwhile.

use kernel::{CallPhase, KernelInput, TaskSpawn};
use protocol::{CancelBy, CancelMode, Clip, TaskId, TaskMode, TaskSpec, WaitEnd};
use tools::{ToolError, WaitUntilRequest};

use super::{AgentSubagents, tool_error};

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
        // The command runs in its own shell, so that an `exit` in it does not end the watch.
        let quoted = request.command.replace('\'', r"'\''");
        let (shell, pause) = (tools::bash_or_plain_shell(), request.interval.as_secs());
        let prompt = format!("until {shell} -c '{quoted}'; do sleep {pause}; done");
        let spec = TaskSpec {
            parent: Some(self.caller_task()),
            description: format!("until `{}` succeeds", Clip::new(&request.command, 150)),
            mode: TaskMode::Sync,
            ..TaskSpec::shell("until")
        };
        let id = TaskId::new(self.context.settings.ids.uuid());
        let by = Some((self.caller.run, self.caller.turn, self.caller.call.clone()));
        let until = Some(self.context.settings.clock.now().plus(request.timeout));
        let spawn = TaskSpawn { id, spec, prompt, by, until, definition: None };
        self.caller.supervisor.submit(KernelInput::Spawn(spawn)).await.map_err(tool_error)?;
        Ok(id)
    }
}
