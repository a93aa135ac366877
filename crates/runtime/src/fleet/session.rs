//! A session, as its fleet uses it: the one way from a fleet to its session.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use git::Git;
use host::{Clock, Home};
use kernel::{Kernel, KernelInput, ReaderWait};
use policy::Verdict;
use protocol::api::{SendParams, SessionCommand, TodoEdit};
use protocol::{
    AgentSpec, Budget, Hinted as _, PermissionMode, ReasoningEffort, Refusal, SessionId, TaskId, TaskOutcome,
};
use store::{SessionReader, StoreError};
use tokio_util::sync::CancellationToken;

use crate::bus::Subscription;
use crate::catalog::Catalog;
use crate::models::ModelResolver;
use crate::roster::RosterEntry;
use crate::session_context::SessionContext;
use crate::spawn::SpawnBuilder;
use crate::supervisor::{FleetActivity, InputRejection, Supervisor};
use crate::task_workspaces::TaskWorkspace;
use crate::todos::{TodoEditError, TodoSyncError};
use crate::{commands, definition, hooks, permission_check};

/// A session, as its fleet uses it.
#[derive(Debug, Clone)]
pub struct FleetSession {
    context: Arc<SessionContext>,
    supervisor: Supervisor,
    root: TaskId,
    first_seq: u64,
    closing: CancellationToken,
}

impl FleetSession {
    pub(crate) fn new(
        context: Arc<SessionContext>,
        supervisor: Supervisor,
        root: TaskId,
        (first_seq, closing): (u64, CancellationToken),
    ) -> FleetSession {
        FleetSession { context, supervisor, root, first_seq, closing }
    }

    /// The session's id.
    pub fn id(&self) -> SessionId {
        self.context.facts.session
    }

    /// The main agent's task.
    pub fn root(&self) -> TaskId {
        self.root
    }

    /// The number of the last event before this process opened the session.
    pub fn first_seq(&self) -> u64 {
        self.first_seq
    }

    /// Cancelled when the session closes.
    pub fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// The home that stores the session.
    pub fn home(&self) -> &Home {
        &self.context.facts.home
    }

    /// The clock of the session.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.context.facts.clock
    }

    /// Whether the time of the session's agents is over.
    pub fn is_time_over(&self) -> bool {
        self.context.facts.deadline.is_over()
    }

    /// Submits a decision, and waits until it is durable.
    pub async fn submit(&self, input: KernelInput) -> Result<(), InputRejection> {
        self.supervisor.submit(input).await.map(|_receipt| ())
    }

    /// Queries the durable state.
    pub async fn query<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Kernel) -> T + Send + 'static,
    ) -> Result<T, InputRejection> {
        self.supervisor.query(query).await
    }

    /// Waits until the durable state shows something.
    pub async fn wait_for(&self, wait: ReaderWait) -> Result<(), InputRejection> {
        self.supervisor.wait_for(wait).await
    }

    /// Puts into the session's status whether a fleet is driven.
    pub async fn show(&self, activity: FleetActivity) {
        self.supervisor.show_fleet(activity).await;
    }

    /// Sends the main agent a message as the user does, after its hooks have run.
    pub async fn post(&self, message: SendParams) -> Result<(), InputRejection> {
        let message = hooks::filter_prompt(&self.context, &self.supervisor, self.root, message).await?;
        self.submit(commands::input_of(SessionCommand::Send(message), self.root)).await
    }

    /// Reports all changes of the todo tables so far.
    pub async fn sync_todos(&self) -> Result<(), TodoSyncError> {
        self.context.todo_sync.sync().await
    }

    /// Changes todos for the user.
    pub async fn edit_todos(&self, edits: Vec<TodoEdit>) -> Result<(), TodoEditError> {
        self.context.edit_todos(edits).await.map(drop)
    }

    /// Opens a reader of the session's file.
    pub fn reader(&self) -> Result<SessionReader, StoreError> {
        self.context.log.reader()
    }

    /// All events, from the first.
    pub fn events(&self) -> Subscription {
        self.context.log.bus.subscribe(0)
    }

    /// How the main agent's last activation ended.
    pub fn last_outcome(&self) -> Option<TaskOutcome> {
        let last = |entry: &RosterEntry| entry.endings.last_key_value().map(|(_, end)| end.outcome.clone());
        self.context.log.roster.with_task(self.root, last).flatten()
    }

    /// Whether a task that uses up its budget uses up the session's, not its own.
    pub fn uses_session_budget(&self, task: TaskId) -> bool {
        let uses = |entry: &RosterEntry| {
            entry.spec.todo.is_some() && entry.spec.budget == Budget::default() || entry.depth == 0
        };
        self.context.log.roster.with_task(task, uses).unwrap_or_default()
    }

    /// The permission mode of a task.
    pub fn mode(&self, task: TaskId) -> Option<PermissionMode> {
        self.context.log.roster.mode(task)
    }

    /// The task whose checkout a task works in.
    pub fn checkout_owner(&self, task: TaskId) -> Option<TaskId> {
        self.context.log.roster.checkout_owner(task)
    }

    /// The agents that workers can be.
    pub fn definitions(&self) -> &Arc<Catalog> {
        &self.context.catalog.definitions
    }

    /// The models that workers may use besides the session's.
    pub fn models(&self) -> &Arc<dyn ModelResolver> {
        &self.context.catalog.models
    }

    /// The model that the session started with.
    pub fn model_spec(&self) -> &str {
        &self.context.catalog.model_spec
    }

    /// The effort of agents whose definition names none.
    pub fn effort(&self) -> Option<ReasoningEffort> {
        self.context.facts.effort
    }

    /// The definition of a task's agent.
    pub fn definition_of(&self, task: TaskId) -> Result<Arc<AgentSpec>, Refusal> {
        let prepared = self.context.prepared_agent(task).map_err(|error| error.refusal())?;
        Ok(Arc::clone(&prepared.definition))
    }

    /// Why an agent with this definition and model cannot be started.
    pub fn agent_problems(&self, agent: &AgentSpec, model: Option<&str>) -> Vec<String> {
        let invalid = definition::definition_of(agent).err().map(|error| error.in_one_line());
        let unusable = self.context.model_for(agent, model).err().map(|error| error.in_one_line());
        invalid.into_iter().chain(unusable).collect()
    }

    /// The start of an agent below the main agent.
    pub fn spawn(&self, agent: &AgentSpec, name: &str, model: Option<&str>) -> Result<SpawnBuilder, Refusal> {
        let model = self.context.model_for(agent, model).map_err(|error| error.refusal())?;
        let spawn = SpawnBuilder::agent(&self.context, agent, name, model).map_err(|error| error.refusal())?;
        Ok(spawn.below(self.root).finishes())
    }

    /// The input that starts a task, and the task's id.
    pub fn spawn_input(&self, spawn: SpawnBuilder) -> (TaskId, KernelInput) {
        let spawn = spawn.build(&self.context);
        (spawn.id, KernelInput::Spawn(spawn))
    }

    /// The verdict on a command that a task would run with a tool.
    pub async fn judge(&self, task: TaskId, tool: &'static str, command: &str) -> Result<Verdict, Refusal> {
        let prepared = self.context.prepared_agent(task).map_err(|error| error.refusal())?;
        let workspace = self.context.task_workspace(task).map_err(|error| error.refusal())?;
        let verdict =
            permission_check::judge_command(&self.context.workplace, &prepared, &workspace, tool, command).await;
        verdict.map_err(Refusal::new)
    }

    /// Runs a check in the subfolder of a checkout, for the main agent. The error says why it fails or may not run.
    pub async fn run_check(&self, checkout: &Path, subfolder: &Path, command: &str) -> Result<(), Refusal> {
        let root = self.root;
        let run = self.query(move |kernel| kernel.task(root).map(kernel::KernelTask::run_id)).await;
        let Ok(Some(run)) = run else { return Err(Refusal::new("the session is closing")) };
        let workspace = TaskWorkspace::checkout(checkout, subfolder, self.env()).map_err(Refusal::new)?;
        let checked = crate::expectations::check_command_at(&self.context, run, &Arc::new(workspace), command).await;
        match checked.map_err(|error| error.refusal())? {
            None => Ok(()),
            Some(failure) => Err(Refusal::new(failure)),
        }
    }

    /// Git in the folder that the main agent works in.
    pub fn git(&self) -> Result<Git, Refusal> {
        let workspace = self.context.task_workspace(self.root).map_err(|error| error.refusal())?;
        Ok(Git::new(self.context.workplace.guardian.clone(), workspace.cwd(), self.env()))
    }

    /// Git in the session's folder.
    pub fn git_in_cwd(&self) -> Git {
        Git::new(self.context.workplace.guardian.clone(), self.cwd(), self.env())
    }

    /// The folder that the session works in.
    pub fn cwd(&self) -> &Path {
        &self.context.facts.cwd
    }

    /// Gives up a task's checkout, with its lease.
    pub fn release_checkout(&self, task: TaskId) {
        drop(self.context.workplace.task_workspaces.take_checkout(task));
    }

    fn env(&self) -> &[(OsString, OsString)] {
        &self.context.workplace.env
    }
}
