//! The agent that resolves a conflict, and the check of a merge.

use std::path::Path;
use std::sync::Arc;

use git::{Commit, MergeConflict};
use kernel::{Input, Phase, Spawn};
use protocol::{Clip, Event, Expects, FailKind, Isolation, Mode, Outcome, Rest, TaskId, TaskSpec, Todo, TodoId};
use tools::BoxFuture;

use super::aide::{self, Aide};
use super::session::Hands;
use crate::bus::Live;
use crate::sites::Site;
use crate::{definition, expects, fleet, prompt};

/// The type of agent that resolves conflicts of what names none.
const USUAL: &str = "general-purpose";

/// Most bytes of what git says of a conflict.
const SAID: usize = 4 * 1024;

impl Aide for Hands<'_> {
    fn mend<'a>(&'a self, conflict: &'a MergeConflict, begun: &'a Commit) -> BoxFuture<'a, Result<Commit, String>> {
        Box::pin(async move {
            let starting = self.merging.starting.lock().await;
            let task = match self.known(begun).await? {
                Some(task) => task,
                None => self.start(conflict, begun).await?,
            };
            drop(starting);
            self.end_of(task).await
        })
    }

    fn title(&self, todo: &TodoId) -> String {
        self.todo(todo).map(|todo| todo.title.clone()).unwrap_or_default()
    }

    fn has_check<'a>(&'a self, todo: &'a TodoId) -> BoxFuture<'a, Result<bool, String>> {
        Box::pin(async move { Ok(self.command(todo).await?.is_some()) })
    }

    fn check<'a>(&'a self, todo: &'a TodoId, folder: &'a Path) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let Some(command) = self.command(todo).await? else { return Ok(()) };
            let root = self.merging.root;
            let run = self.merging.supervisor.look(move |kernel| kernel.task(root).map(kernel::Task::run)).await;
            let Ok(Some(run)) = run else { return Err("the session is closing".into()) };
            let desk = &self.merging.desk;
            let site = Site::checkout(folder, &self.below, &desk.settings.env).map_err(|error| error.to_string())?;
            match expects::command_at(desk, run, &Arc::new(site), &command).await? {
                None => Ok(()),
                Some(missing) => Err(missing),
            }
        })
    }

    fn merged<'a>(&'a self, todo: &'a TodoId, commit: &'a Commit) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let input = Input::MergeTodo { todo: todo.clone(), commit: commit.to_string() };
            self.merging.supervisor.submit(input).await.map(|_receipt| ()).map_err(|rejected| rejected.to_string())
        })
    }
}

impl Hands<'_> {
    /// Whoever was started to resolve this very conflict, by this owner or another.
    async fn known(&self, begun: &Commit) -> Result<Option<TaskId>, String> {
        let mut works = self.merging.works.lock().await;
        self.merging.catch_up(&mut works)?;
        Ok(works.menders.iter().find(|mender| mender.begun == *begun).map(|mender| mender.task))
    }

    async fn start(&self, conflict: &MergeConflict, begun: &Commit) -> Result<TaskId, String> {
        let desk = &self.merging.desk;
        let id = aide::todo(conflict);
        let todo = self.todo(&id);
        let own = todo.and_then(|todo| todo.agent_type.as_deref());
        let wanted = own.or(self.terms.agent.as_deref()).unwrap_or(USUAL);
        let agent = desk.settings.catalog.agent(wanted).ok_or_else(|| format!("there is no agent type `{wanted}`"))?;
        let definition = definition::of(agent)?;
        let model = desk.model_for(agent, todo.and_then(|todo| todo.model.as_deref()));
        let expects = Expects { command: self.command(&id).await?, ..Expects::default() };
        let title = todo.map_or("", |todo| todo.title.as_str());
        let spec = TaskSpec {
            parent: Some(self.merging.root),
            description: format!("fits the work of {id} to that of others"),
            mode: Mode::Background,
            rest: Rest::Finish,
            definition: Some(definition.id.clone()),
            model: Some(model.map_err(|error| error.to_string())?),
            expects: (expects != Expects::default()).then_some(expects),
            isolation: Some(Isolation::Worktree { base: Some(begun.to_string()), dirty: false }),
            merges: Some(id.clone()),
            ..desk.task_of(agent, &format!("merge-{id}"))
        };
        let task = TaskId::new(desk.settings.ids.uuid());
        let prompt = told(conflict, title);
        let spawn = Spawn { id: task, spec, prompt, by: None, until: None, definition: Some(definition) };
        let started = self.merging.supervisor.submit(Input::Spawn(spawn)).await;
        started.map_err(|rejected| format!("no agent could be started for it: {rejected}"))?;
        Ok(task)
    }

    /// Waits for a task's end, and gives what it made.
    async fn end_of(&self, task: TaskId) -> Result<Commit, String> {
        let desk = &self.merging.desk;
        let mut live = desk.bus.subscribe(self.merging.last_seq()?);
        loop {
            let phase =
                self.merging.supervisor.look(move |kernel| kernel.task(task).map(|task| task.phase.clone())).await;
            match phase.map_err(|rejected| rejected.to_string())? {
                Some(Phase::Finished(Outcome::Completed)) => break,
                Some(Phase::Finished(outcome)) => {
                    return Err(format!("the agent that tried did not do it: {}", ended(&outcome)));
                }
                Some(Phase::Queued(_) | Phase::Running(_) | Phase::Idle | Phase::Parked(_) | Phase::Interrupted) => {}
                None => return Err("the agent that tried is gone".into()),
            }
            loop {
                match live.next().await.map_err(|error| error.to_string())? {
                    Some(Live::Event(envelope))
                        if envelope.entry.task == task
                            && matches!(envelope.entry.event, Event::TaskFinished { .. }) =>
                    {
                        break;
                    }
                    Some(Live::Event(_) | Live::Text { .. }) => {}
                    None => return Err("the session is closing".into()),
                }
            }
        }
        let mut works = self.merging.works.lock().await;
        self.merging.catch_up(&mut works)?;
        works.sealed(task).cloned().ok_or_else(|| "the agent that tried left nothing".into())
    }

    /// What must hold after the work of a todo is merged: what the fleet says, or else what the todo says. The words of a
    /// todo may have been changed since it was done, so they are judged anew.
    async fn command(&self, todo: &TodoId) -> Result<Option<String>, String> {
        if let Some(check) = &self.terms.check {
            return Ok(Some(check.clone()));
        }
        let Some(check) = self.todo(todo).and_then(|todo| todo.check.clone()) else { return Ok(None) };
        fleet::permitted(&self.merging.desk, self.merging.root, &check).await?;
        Ok(Some(check))
    }

    fn todo(&self, id: &TodoId) -> Option<&Todo> {
        self.todos.iter().find(|todo| todo.id == *id)
    }
}

fn ended(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failed { kind: FailKind::Contract, .. } => "the check does not hold".into(),
        Outcome::Failed { message, .. } => Clip::new(message, 500).into_string(),
        Outcome::Completed
        | Outcome::Cancelled { .. }
        | Outcome::TimedOut { .. }
        | Outcome::BudgetExhausted
        | Outcome::Lost => outcome.word().into(),
    }
}

/// What the agent is told.
fn told(conflict: &MergeConflict, title: &str) -> String {
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
