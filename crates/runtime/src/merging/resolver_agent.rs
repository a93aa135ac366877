//! The agent that resolves a conflict, and the check of a merge.

use std::path::Path;
use std::sync::Arc;

use git::{Commit, MergeConflict};
use kernel::{KernelInput, TaskPhase, TaskSpawn};
use protocol::{
    Clip, CompletionPolicy, Event, Expectations, FailKind, Isolation, TaskId, TaskMode, TaskOutcome, TaskSpec, Todo,
    TodoId,
};
use tools::BoxFuture;

use super::merge_session::{self, MergeSession};
use super::merger::MergeServices;
use crate::bus::BusMessage;
use crate::task_workspaces::TaskWorkspace;
use crate::{definition, expectations, fleet, prompt};

/// The type of agent that resolves conflicts of what names none.
const USUAL: &str = "general-purpose";

/// Most bytes of what git says of a conflict.
const SAID: usize = 4 * 1024;

impl MergeSession for MergeServices<'_> {
    fn resolve<'a>(&'a self, conflict: &'a MergeConflict, begun: &'a Commit) -> BoxFuture<'a, Result<Commit, String>> {
        Box::pin(async move {
            let starting = self.merger.resolver_lock.lock().await;
            let task = match self.find_resolver(begun).await? {
                Some(task) => task,
                None => self.start_resolver(conflict, begun).await?,
            };
            drop(starting);
            self.await_resolution(task).await
        })
    }

    fn title(&self, todo: &TodoId) -> String {
        self.todo(todo).map(|todo| todo.title.clone()).unwrap_or_default()
    }

    fn has_check<'a>(&'a self, todo: &'a TodoId) -> BoxFuture<'a, Result<bool, String>> {
        Box::pin(async move { Ok(self.check_command(todo).await?.is_some()) })
    }

    fn check<'a>(&'a self, todo: &'a TodoId, folder: &'a Path) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let Some(command) = self.check_command(todo).await? else { return Ok(()) };
            let root = self.merger.root;
            let run =
                self.merger.supervisor.query(move |kernel| kernel.task(root).map(kernel::KernelTask::run_id)).await;
            let Ok(Some(run)) = run else { return Err("the session is closing".into()) };
            let context = &self.merger.context;
            let site = TaskWorkspace::checkout(folder, &self.subfolder, &context.settings.env)
                .map_err(|error| error.to_string())?;
            match expectations::command_at(context, run, &Arc::new(site), &command).await? {
                None => Ok(()),
                Some(missing) => Err(missing),
            }
        })
    }

    fn record_merged<'a>(&'a self, todo: &'a TodoId, commit: &'a Commit) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let input = KernelInput::MergeTodo { todo: todo.clone(), commit: commit.to_string() };
            self.merger.supervisor.submit(input).await.map(|_receipt| ()).map_err(|rejected| rejected.to_string())
        })
    }
}

impl MergeServices<'_> {
    /// Whoever was started to resolve this very conflict, by this owner or another.
    async fn find_resolver(&self, begun: &Commit) -> Result<Option<TaskId>, String> {
        let mut works = self.merger.work.lock().await;
        self.merger.catch_up(&mut works)?;
        Ok(works.resolvers.iter().find(|resolver| resolver.base == *begun).map(|resolver| resolver.task))
    }

    async fn start_resolver(&self, conflict: &MergeConflict, begun: &Commit) -> Result<TaskId, String> {
        let context = &self.merger.context;
        let id = merge_session::conflict_todo(conflict);
        let todo = self.todo(&id);
        let own = todo.and_then(|todo| todo.agent_type.as_deref());
        let wanted = own.or(self.terms.agent.as_deref()).unwrap_or(USUAL);
        let agent =
            context.settings.catalog.agent(wanted).ok_or_else(|| format!("there is no agent type `{wanted}`"))?;
        let definition = definition::definition_of(agent)?;
        let model = context.model_for(agent, todo.and_then(|todo| todo.model.as_deref()));
        let expects = Expectations { command: self.check_command(&id).await?, ..Expectations::default() };
        let title = todo.map_or("", |todo| todo.title.as_str());
        let spec = TaskSpec {
            parent: Some(self.merger.root),
            description: format!("fits the work of {id} to that of others"),
            mode: TaskMode::Background,
            on_complete: CompletionPolicy::Finish,
            definition: Some(definition.id.clone()),
            model: Some(model.map_err(|error| error.to_string())?),
            expects: (expects != Expectations::default()).then_some(expects),
            isolation: Some(Isolation::Worktree { base: Some(begun.to_string()), dirty: false }),
            merges: Some(id.clone()),
            ..context.task_spec(agent, &format!("merge-{id}"))
        };
        let task = TaskId::new(context.settings.ids.uuid());
        let prompt = conflict_prompt(conflict, title);
        let spawn = TaskSpawn { id: task, spec, prompt, by: None, until: None, definition: Some(definition) };
        let started = self.merger.supervisor.submit(KernelInput::Spawn(spawn)).await;
        started.map_err(|rejected| format!("no agent could be started for it: {rejected}"))?;
        Ok(task)
    }

    /// Waits for a task's end, and gives what it made.
    async fn await_resolution(&self, task: TaskId) -> Result<Commit, String> {
        let context = &self.merger.context;
        let mut live = context.bus.subscribe(self.merger.last_seq()?);
        loop {
            let phase =
                self.merger.supervisor.query(move |kernel| kernel.task(task).map(|task| task.phase.clone())).await;
            match phase.map_err(|rejected| rejected.to_string())? {
                Some(TaskPhase::Finished(TaskOutcome::Completed)) => break,
                Some(TaskPhase::Finished(outcome)) => {
                    return Err(format!("the agent that tried did not do it: {}", describe_outcome(&outcome)));
                }
                Some(
                    TaskPhase::Queued(_)
                    | TaskPhase::Running(_)
                    | TaskPhase::Idle
                    | TaskPhase::Parked(_)
                    | TaskPhase::Interrupted,
                ) => {}
                None => return Err("the agent that tried is gone".into()),
            }
            loop {
                match live.next().await.map_err(|error| error.to_string())? {
                    Some(BusMessage::Event(envelope))
                        if envelope.entry.task == task
                            && matches!(envelope.entry.event, Event::TaskFinished { .. }) =>
                    {
                        break;
                    }
                    Some(BusMessage::Event(_) | BusMessage::Text { .. }) => {}
                    None => return Err("the session is closing".into()),
                }
            }
        }
        let mut works = self.merger.work.lock().await;
        self.merger.catch_up(&mut works)?;
        works.sealed(task).cloned().ok_or_else(|| "the agent that tried left nothing".into())
    }

    /// What must hold after the work of a todo is merged: what the fleet says, or else what the todo says. The words of a
    /// todo may have been changed since it was done, so they are judged anew.
    async fn check_command(&self, todo: &TodoId) -> Result<Option<String>, String> {
        if let Some(check) = &self.terms.check {
            return Ok(Some(check.clone()));
        }
        let Some(check) = self.todo(todo).and_then(|todo| todo.check.clone()) else { return Ok(None) };
        fleet::check_permitted(&self.merger.context, self.merger.root, &check).await?;
        Ok(Some(check))
    }

    fn todo(&self, id: &TodoId) -> Option<&Todo> {
        self.todos.iter().find(|todo| todo.id == *id)
    }
}

fn describe_outcome(outcome: &TaskOutcome) -> String {
    match outcome {
        TaskOutcome::Failed { kind: FailKind::Contract, .. } => "the check does not hold".into(),
        TaskOutcome::Failed { message, .. } => Clip::new(message, 500).into_string(),
        TaskOutcome::Completed
        | TaskOutcome::Cancelled { .. }
        | TaskOutcome::TimedOut { .. }
        | TaskOutcome::BudgetExhausted
        | TaskOutcome::Lost => outcome.as_str().into(),
    }
}

/// What the agent is told.
fn conflict_prompt(conflict: &MergeConflict, title: &str) -> String {
    let (tip, part) = (&conflict.tip, &conflict.part.commit);
    let facts = format!(
        "Todo: {} {title}\nFiles: {}\n{}",
        conflict.part.name,
        conflict.files.join(", "),
        conflict.words.join("\n")
    );
    let facts = prompt::quote_within(&facts, SAID);
    format!(
        "{}\n`<<<<<<< {tip}` begins what is merged already.\n`>>>>>>> {part}` ends what the todo brought.\n\n{facts}",
        prompt::MERGE
    )
}
