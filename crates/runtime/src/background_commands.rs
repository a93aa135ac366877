//! Background commands: each is a task, whose output goes to a bounded spool on disk.

use std::sync::Arc;

use client::command_output;
use host::ExitStatus;
use kernel::{BoundaryPoint, KernelInput, KernelTask, RunEnding, RunUpdate, TaskPhase, TaskSpawn};
use protocol::{
    CancelBy, CancelMode, Clip, Event, FailKind, MailBody, TaskForm, TaskId, TaskOutcome, TaskSpec, WaitMode,
};
use tools::{BackgroundCommand, BackgroundRow, BackgroundStatus, BoxFuture, ShellCommand, ToolError, WaitLimit};

use crate::agent::SessionContext;
use crate::call_waits::Caller;
use crate::supervisor::{InputRejection, RunLink};
use crate::task_workspaces::{self, TaskWorkspace};

/// Maximum bytes of a command's output in its result.
const MAX_RESULT_BYTES: usize = 8 * 1024;

/// Runs a background command to its end. Dropping the future kills the command and everything it started.
pub(crate) async fn run_background_command(context: Arc<SessionContext>, link: RunLink) {
    if let Err(rejected) = run_task(&context, &link).await {
        tracing::info!(run = %link.run, %rejected, "the command stops");
    }
}

async fn run_task(context: &SessionContext, link: &RunLink) -> Result<(), InputRejection> {
    link.supervisor.report(link.run, RunUpdate::Boundary(BoundaryPoint::BetweenTurns)).await?;
    let workspace = match task_workspaces::ensure_workspace(context, link).await {
        Ok(()) => context.task_workspace(link.run.task),
        Err(error) => Err(error.to_string()),
    };
    let prepared = workspace.and_then(|workspace| Ok((workspace, read_command(context, link.run.task)?)));
    let (ending, note) = match prepared {
        Ok((workspace, command)) => execute(context, &workspace, link.run.task, &command).await,
        Err(message) => (RunEnding::Failed { kind: FailKind::Internal, message }, None),
    };
    let mut text = output(context, link.run.task, MAX_RESULT_BYTES).into_string();
    if let Some(note) = note.filter(|note| !text.contains(note.trim())) {
        text.push_str(&note);
    }
    link.supervisor.report(link.run, RunUpdate::Ended { ending, text }).await
}

/// The command, which is the task's first mail.
fn read_command(context: &SessionContext, task: TaskId) -> Result<String, String> {
    let log = context.reader().and_then(|reader| reader.task_events(task)).map_err(|error| error.to_string())?;
    let first = log.into_iter().find_map(|envelope| match envelope.entry.event {
        Event::MailAdmitted { body: MailBody::Text { text, .. }, .. } => Some(text),
        _other => None,
    });
    first.ok_or_else(|| "the task has no command".into())
}

/// Runs the command; returns how it ended and a note about output that was not stored.
async fn execute(
    context: &SessionContext,
    workspace: &TaskWorkspace,
    task: TaskId,
    command: &str,
) -> (RunEnding, Option<String>) {
    let failed = |message: String| RunEnding::Failed { kind: FailKind::Exit, message };
    let folder = context.settings.home.spool_dir(context.session, task);
    let mut spool = match context.settings.spools.open(&folder) {
        Ok(spool) => spool,
        Err(error) => return (failed(format!("cannot store its output: {error}")), None),
    };
    let memory = context.settings.tools.command_memory_bytes;
    let command = ShellCommand { command, cwd: workspace.cwd(), env: &workspace.env, memory_bytes: memory };
    let mut process = match tools::launch(&context.guardian, command).await {
        Ok(process) => process,
        Err(error) => return (failed(format!("could not start: {error}")), None),
    };
    let mut write_error = None;
    let mut write = |bytes: &[u8]| {
        if let Err(error) = spool.write(bytes) {
            write_error.get_or_insert(error);
        }
    };
    let mut stream = context.redactor.stream();
    let exit = tools::follow(&mut process, |bytes| write(&stream.push(bytes))).await;
    write(&stream.finish());
    let ending = match (exit.map(|exit| exit.status), write_error) {
        (Err(error), _) => failed(error.to_string()),
        (Ok(ExitStatus::Code(0)), None) => RunEnding::Completed,
        (Ok(ExitStatus::Code(0)), Some(error)) => failed(format!("could not store all of its output: {error}")),
        (Ok(status @ (ExitStatus::Code(_) | ExitStatus::Signal(_))), _) => failed(status.to_string()),
    };
    (ending, spool.cutoff_note().map(str::to_owned))
}

fn output(context: &SessionContext, task: TaskId, max: usize) -> Clip {
    command_output(&context.settings.home, context.session, task, max)
}

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
                let until = self.context.settings.clock.now().plus(time);
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
        let id = TaskId::new(self.context.settings.ids.uuid());
        let spec = TaskSpec {
            parent: Some(self.caller.run.task),
            description: Clip::new(&command.description, 200).into_string(),
            ..TaskSpec::shell(task_name(&command.command))
        };
        let by = Some((self.caller.run, self.caller.turn, self.caller.call.clone()));
        let spawn =
            KernelInput::Spawn(TaskSpawn { id, spec, prompt: command.command, by, until: None, definition: None });
        match self.caller.supervisor.submit(spawn).await {
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
            if names.is_empty() { "none was started".into() } else { format!("there are: {}", names.join(", ")) };
        Err(ToolError::refused(format!("no background command is called `{}`; {known}", Clip::new(name, 100))))
    }

    async fn command_status(&self, task: TaskId) -> Result<BackgroundStatus, ToolError> {
        let state = self.caller.supervisor.query(move |kernel| kernel.task(task).map(state_text)).await;
        let state = state.map_err(ToolError::failed)?.unwrap_or_else(|| "gone".into());
        Ok(BackgroundStatus { state, output: output(&self.context, task, self.context.settings.tools.output_bytes) })
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
        let log = self.context.reader().and_then(|reader| reader.task_events(task)).unwrap_or_default();
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

/// A short task name, taken from a command's first word.
fn task_name(command: &str) -> String {
    let word = command.split_whitespace().next().unwrap_or_default();
    let word = word.rsplit('/').next().unwrap_or_default();
    let name: String = word.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).take(24).collect();
    if name.is_empty() { "shell".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_named_after_its_program() {
        let names = ["cargo test", "/usr/bin/python3 -m http.server", "  ", "$(x)", "FOO=1 make"].map(task_name);
        assert_eq!(names, ["cargo", "python3", "shell", "x", "FOO1"]);
    }
}
