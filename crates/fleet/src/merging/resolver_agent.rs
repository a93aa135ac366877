//! Starts agents that resolve merge conflicts, and runs the checks of merges.

use std::path::Path;

use git::{Commit, MergeConflict};
use kernel::{KernelInput, ReaderWait, TaskPhase};
use protocol::{
    Clip, DEFAULT_AGENT, Expectations, FailKind, Isolation, TaskId, TaskOutcome, Todo, TodoId, quote_within,
};
use runtime::InputRejection;
use store::StoreError;
use tools::BoxFuture;

use super::error::{MergeError, Unresolved};
use super::merge_session::{self, MergeSession};
use super::merger::MergeServices;
use crate::worker::{self, WorkerError};

/// The task of an agent that resolves a conflict; the ids of both sides and git's output follow.
const MERGE_PROMPT: &str = include_str!("../prompts/merge.md");

/// Maximum bytes of the part of the prompt that describes the conflict.
const MAX_FACTS_BYTES: usize = 4 * 1024;

impl MergeSession for MergeServices<'_> {
    fn resolve<'a>(
        &'a self,
        conflict: &'a MergeConflict,
        start: &'a Commit,
    ) -> BoxFuture<'a, Result<Commit, Unresolved>> {
        Box::pin(async move {
            let lock = self.merger.resolver_lock.lock().await;
            let task = match self.find_resolver(start).await.map_err(MergeError::from)? {
                Some(task) => task,
                None => self.start_resolver(conflict, start).await?,
            };
            drop(lock);
            self.await_resolution(task).await
        })
    }

    fn title(&self, todo: &TodoId) -> String {
        self.todo(todo).map(|todo| todo.title.clone()).unwrap_or_default()
    }

    fn has_check<'a>(&'a self, todo: &'a TodoId) -> BoxFuture<'a, Result<bool, WorkerError>> {
        Box::pin(async move { Ok(self.check_command(todo).await?.is_some()) })
    }

    fn check<'a>(&'a self, todo: &'a TodoId, folder: &'a Path) -> BoxFuture<'a, Result<(), WorkerError>> {
        Box::pin(async move {
            let Some(command) = self.check_command(todo).await? else { return Ok(()) };
            Ok(self.merger.session.run_check(folder, &self.subfolder, &command).await?)
        })
    }

    fn record_merged<'a>(&'a self, todo: &'a TodoId, commit: &'a Commit) -> BoxFuture<'a, Result<(), InputRejection>> {
        Box::pin(async move {
            let input = KernelInput::MergeTodo { todo: todo.clone(), commit: commit.to_string() };
            self.merger.session.submit(input).await
        })
    }
}

impl MergeServices<'_> {
    /// The agent that this or an earlier owner process started for this conflict.
    async fn find_resolver(&self, start: &Commit) -> Result<Option<TaskId>, StoreError> {
        let mut work = self.merger.work.lock().await;
        self.merger.catch_up(&mut work)?;
        Ok(work.resolvers.iter().find(|resolver| resolver.base == *start).map(|resolver| resolver.task))
    }

    async fn start_resolver(&self, conflict: &MergeConflict, start: &Commit) -> Result<TaskId, Unresolved> {
        let session = &self.merger.session;
        let id = merge_session::conflict_todo(conflict);
        let todo = self.todo(&id);
        let named = todo.and_then(|todo| todo.agent_type.as_deref());
        let agent_type = named.or(self.config.agent.as_deref()).unwrap_or(DEFAULT_AGENT);
        let unknown = || Unresolved::UnknownAgent(agent_type.to_owned());
        let agent = session.definitions().agent(agent_type).ok_or_else(unknown)?;
        let expects = Expectations { command: self.check_command(&id).await?, ..Expectations::default() };
        let title = todo.map_or("", |todo| todo.title.as_str());
        let spawn = session
            .spawn(agent, &format!("merge-{id}"), todo.and_then(|todo| todo.model.as_deref()))
            .map_err(MergeError::from)?
            .describe(&format!("resolves the merge conflict of {id}"))
            .expects((expects != Expectations::default()).then_some(expects))
            .isolation(Some(Isolation::Worktree { base: Some(start.to_string()), dirty: false }))
            .merges(id)
            .prompt(conflict_prompt(conflict, title));
        let (task, input) = session.spawn_input(spawn);
        session.submit(input).await.map_err(Unresolved::NotStarted)?;
        Ok(task)
    }

    /// Waits until the resolving agent has finished, and returns its commit.
    async fn await_resolution(&self, task: TaskId) -> Result<Commit, Unresolved> {
        let session = &self.merger.session;
        session.wait_for(ReaderWait::Finished(task)).await.map_err(MergeError::from)?;
        let phase = session.query(move |kernel| kernel.task(task).map(|task| task.phase.clone())).await;
        if let Some(TaskPhase::Finished(outcome)) = phase.map_err(MergeError::from)?
            && outcome != TaskOutcome::Completed
        {
            return Err(Unresolved::AgentFailed(describe_outcome(&outcome)));
        }
        let mut work = self.merger.work.lock().await;
        self.merger.catch_up(&mut work).map_err(MergeError::from)?;
        work.sealed(task).cloned().ok_or(Unresolved::NoCommit)
    }

    /// The command that checks a todo's merge: the fleet's, or else the todo's own. A todo's check may have changed
    /// since the todo was done, so its permission is checked again.
    async fn check_command(&self, todo: &TodoId) -> Result<Option<String>, WorkerError> {
        if let Some(check) = &self.config.check {
            return Ok(Some(check.clone()));
        }
        let Some(check) = self.todo(todo).and_then(|todo| todo.check.clone()) else { return Ok(None) };
        worker::check_permitted(&self.merger.session, &check).await?;
        Ok(Some(check))
    }

    fn todo(&self, id: &TodoId) -> Option<&Todo> {
        self.todos.iter().find(|todo| todo.id == *id)
    }
}

fn describe_outcome(outcome: &TaskOutcome) -> String {
    match outcome {
        TaskOutcome::Failed { kind: FailKind::Contract, .. } => "the check fails".into(),
        TaskOutcome::Failed { message, .. } => Clip::new(message, 500).into_string(),
        TaskOutcome::Completed
        | TaskOutcome::Cancelled { .. }
        | TaskOutcome::TimedOut { .. }
        | TaskOutcome::BudgetExhausted
        | TaskOutcome::Lost => outcome.as_str().into(),
    }
}

/// The prompt of the resolving agent.
fn conflict_prompt(conflict: &MergeConflict, title: &str) -> String {
    let (tip, part) = (&conflict.tip, &conflict.part.commit);
    let facts = format!(
        "Todo: {} {title}\nFiles: {}\n{}",
        conflict.part.name,
        conflict.files.join(", "),
        conflict.messages.join("\n")
    );
    let facts = quote_within(&facts, MAX_FACTS_BYTES);
    format!(
        "{MERGE_PROMPT}\n`<<<<<<< {tip}` begins the merged side.\n`>>>>>>> {part}` ends the todo's side.\n\n{facts}"
    )
}
