//! Background commands, as the agent that started them sees them: each is a task.

use std::sync::Arc;

use client::command_output;
use kernel::{KernelInput, KernelTask, TaskPhase};
use protocol::{CancelBy, CancelMode, Clip, Event, TaskForm, TaskId, TaskOutcome, WaitMode};
use tools::{BackgroundCommand, BackgroundRow, BackgroundStatus, BoxFuture, ToolError, WaitLimit};

use crate::call_waits::Caller;
use crate::session_context::SessionContext;
use crate::spawn::SpawnBuilder;
use crate::supervisor::InputRejection;

/// The background commands of the calling agent.
#[derive(Debug)]
pub(crate) struct AgentShellTasks {
    pub(crate) context: Arc<SessionContext>,
    pub(crate) caller: Caller,
}

impl tools::BackgroundCommands for AgentShellTasks {
    fn start(&self, command: BackgroundCommand) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.spawn(command))
    }

    fn read(&self, name: String, wait: WaitLimit) -> BoxFuture<'_, Result<BackgroundStatus, ToolError>> {
        Box::pin(async move {
            let task = self.find(&name).await?;
            if let WaitLimit::For(time) = wait {
                let until = self.context.facts.clock.now().plus(time);
                self.caller.wait(vec![task], WaitMode::All, Some(until)).await.map_err(ToolError::failed)?;
            }
            self.command_status(task).await
        })
    }

    fn stop(&self, name: String) -> BoxFuture<'_, Result<BackgroundStatus, ToolError>> {
        Box::pin(async move {
            let task = self.find(&name).await?;
            let cancel = KernelInput::Cancel { task, by: CancelBy::Agent, how: CancelMode::Abort };
            self.caller.supervisor.submit(cancel).await.map_err(ToolError::failed)?;
            self.command_status(task).await
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<BackgroundRow>, ToolError>> {
        Box::pin(async move {
            let rows = self.map_commands(|task| (task.name.clone(), state_text(task), task.id)).await?;
            let described = |(name, state, id)| BackgroundRow { description: self.description_of(id), name, state };
            Ok(rows.into_iter().map(described).collect())
        })
    }
}

impl AgentShellTasks {
    async fn spawn(&self, command: BackgroundCommand) -> Result<String, ToolError> {
        let spawn = SpawnBuilder::shell(command.command)
            .called_by(&self.caller)
            .describe(&command.description)
            .build(&self.context);
        let id = spawn.id;
        match self.caller.supervisor.submit(KernelInput::Spawn(spawn)).await {
            Ok(_receipt) => {}
            Err(InputRejection::Refused(refusal)) => return Err(ToolError::refused(refusal.to_string())),
            Err(rejected) => return Err(ToolError::failed(rejected)),
        }
        let name = self.caller.supervisor.query(move |kernel| kernel.task(id).map(|task| task.name.clone())).await;
        name.map_err(ToolError::failed)?.ok_or_else(|| ToolError::refused("the command is gone"))
    }

    async fn find(&self, name: &str) -> Result<TaskId, ToolError> {
        let known = self.map_commands(|task| (task.name.clone(), task.id)).await?;
        if let Some((_, id)) = known.iter().find(|(known, id)| known == name || id.to_string() == name) {
            return Ok(*id);
        }
        let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
        let known =
            if names.is_empty() { "none was started".into() } else { format!("available: {}", names.join(", ")) };
        Err(ToolError::refused(format!("no background command is called `{}`; {known}", Clip::new(name, 100))))
    }

    async fn command_status(&self, task: TaskId) -> Result<BackgroundStatus, ToolError> {
        let state = self.caller.supervisor.query(move |kernel| kernel.task(task).map(state_text)).await;
        let state = state.map_err(ToolError::failed)?.unwrap_or_else(|| "gone".into());
        Ok(BackgroundStatus { state, output: self.output(task) })
    }

    fn output(&self, task: TaskId) -> Clip {
        let facts = &self.context.facts;
        command_output(&facts.home, facts.session, task, facts.tools.output_bytes)
    }

    async fn map_commands<T: Send + 'static>(
        &self,
        read: impl Fn(&KernelTask) -> T + Send + 'static,
    ) -> Result<Vec<T>, ToolError> {
        let parent = self.caller.run.task;
        let collect = move |kernel: &kernel::Kernel| {
            let children = kernel.task(parent).into_iter().flat_map(|task| &task.children);
            let tasks = children.filter_map(|id| kernel.task(*id)).filter(|task| task.kind.form() == TaskForm::Command);
            tasks.map(read).collect()
        };
        self.caller.supervisor.query(collect).await.map_err(ToolError::failed)
    }

    fn description_of(&self, task: TaskId) -> String {
        let log = self.context.log.reader().and_then(|reader| reader.task_events(task)).unwrap_or_default();
        let created = log.into_iter().find_map(|envelope| match envelope.entry.event {
            Event::TaskCreated(spec) => Some(spec.description),
            _other => None,
        });
        created.unwrap_or_default()
    }
}

/// A command's state as text.
fn state_text(task: &KernelTask) -> String {
    match &task.phase {
        TaskPhase::Finished(TaskOutcome::Completed) => "exited with code 0".into(),
        TaskPhase::Finished(TaskOutcome::Failed { message, .. }) => message.clone(),
        TaskPhase::Finished(outcome) => outcome.as_str().into(),
        phase @ (TaskPhase::Queued(_)
        | TaskPhase::Running(_)
        | TaskPhase::Idle
        | TaskPhase::Parked(_)
        | TaskPhase::Interrupted) => phase.state().as_str().into(),
    }
}
