//! What a fleet, its merger and its result cache use of their session. Besides this, they use only texts and checks that
//! depend on no session, which are named here too.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use git::Git;
use host::{Clock, Home};
use kernel::{Kernel, KernelInput, ReaderWait};
use policy::Verdict;
use protocol::api::{SendParams, SessionCommand, TodoEdit};
use protocol::{AgentSpec, Budget, PermissionMode, SessionId, TaskId, TaskOutcome};
use store::{SessionReader, StoreError};

use crate::roster::RosterEntry;
use crate::session_context::SessionContext;
use crate::supervisor::Supervisor;
use crate::task_workspaces::TaskWorkspace;
use crate::{commands, definition, hooks, permission_check};

pub(crate) use crate::bus::{BusMessage, Subscription};
pub(crate) use crate::catalog::Catalog;
pub(crate) use crate::compact::one_line;
pub(crate) use crate::definition::definition_of;
pub(crate) use crate::expectations::{check_usable, compile_patterns};
pub(crate) use crate::models::ModelResolver;
pub(crate) use crate::prepared_agent::PreparedAgent;
pub(crate) use crate::prompt::quote_within;
pub(crate) use crate::spawn::SpawnBuilder;
pub(crate) use crate::supervisor::{FleetActivity, InputRejection};
pub(crate) use crate::todos::{TodoEditError, TodoSyncError};

/// A session, as its fleet uses it.
#[derive(Debug, Clone)]
pub(crate) struct FleetSession {
    context: Arc<SessionContext>,
    supervisor: Supervisor,
    root: TaskId,
}

impl FleetSession {
    pub(crate) fn new(context: Arc<SessionContext>, supervisor: Supervisor, root: TaskId) -> FleetSession {
        FleetSession { context, supervisor, root }
    }

    pub(crate) fn id(&self) -> SessionId {
        self.context.facts.session
    }

    /// The main agent's task.
    pub(crate) fn root(&self) -> TaskId {
        self.root
    }

    pub(crate) fn home(&self) -> &Home {
        &self.context.facts.home
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.context.facts.clock
    }

    /// Whether the time of the session's agents is over.
    pub(crate) fn is_time_over(&self) -> bool {
        self.context.facts.deadline.is_over()
    }

    /// Submits a decision, and waits until it is durable.
    pub(crate) async fn submit(&self, input: KernelInput) -> Result<(), InputRejection> {
        self.supervisor.submit(input).await.map(|_receipt| ())
    }

    /// Queries the durable state.
    pub(crate) async fn query<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Kernel) -> T + Send + 'static,
    ) -> Result<T, InputRejection> {
        self.supervisor.query(query).await
    }

    /// Waits until the durable state shows something.
    pub(crate) async fn wait_for(&self, wait: ReaderWait) -> Result<(), InputRejection> {
        self.supervisor.wait_for(wait).await
    }

    /// Puts into the session's status whether a fleet is driven.
    pub(crate) async fn show(&self, activity: FleetActivity) {
        self.supervisor.show_fleet(activity).await;
    }

    /// Sends the main agent a message as the user does, after its hooks have run.
    pub(crate) async fn post(&self, message: SendParams) -> Result<(), InputRejection> {
        let message = hooks::filter_prompt(&self.context, &self.supervisor, self.root, message).await?;
        self.submit(commands::input_of(SessionCommand::Send(message), self.root)).await
    }

    /// Reports all changes of the todo tables so far.
    pub(crate) async fn sync_todos(&self) -> Result<(), TodoSyncError> {
        self.context.todo_sync.sync().await
    }

    /// Changes todos for the user.
    pub(crate) async fn edit_todos(&self, edits: Vec<TodoEdit>) -> Result<(), TodoEditError> {
        self.context.edit_todos(edits).await.map(drop)
    }

    pub(crate) fn reader(&self) -> Result<SessionReader, StoreError> {
        self.context.log.reader()
    }

    /// All events, from the first.
    pub(crate) fn events(&self) -> Subscription {
        self.context.log.bus.subscribe(0)
    }

    /// How the main agent's last activation ended.
    pub(crate) fn last_outcome(&self) -> Option<TaskOutcome> {
        let last = |entry: &RosterEntry| entry.endings.last_key_value().map(|(_, end)| end.outcome.clone());
        self.context.log.roster.with_task(self.root, last).flatten()
    }

    /// Whether a task that uses up its budget uses up the session's, not its own.
    pub(crate) fn uses_session_budget(&self, task: TaskId) -> bool {
        let uses = |entry: &RosterEntry| {
            entry.spec.todo.is_some() && entry.spec.budget == Budget::default() || entry.depth == 0
        };
        self.context.log.roster.with_task(task, uses).unwrap_or_default()
    }

    /// The permission mode of a task.
    pub(crate) fn mode(&self, task: TaskId) -> Option<PermissionMode> {
        self.context.log.roster.mode(task)
    }

    /// The task whose checkout a task works in.
    pub(crate) fn checkout_owner(&self, task: TaskId) -> Option<TaskId> {
        self.context.log.roster.checkout_owner(task)
    }

    pub(crate) fn definitions(&self) -> &Arc<Catalog> {
        &self.context.catalog.definitions
    }

    pub(crate) fn models(&self) -> &Arc<dyn ModelResolver> {
        &self.context.catalog.models
    }

    /// The model that the session started with.
    pub(crate) fn model_spec(&self) -> &str {
        &self.context.catalog.model_spec
    }

    pub(crate) fn effort(&self) -> Option<protocol::ReasoningEffort> {
        self.context.facts.effort
    }

    /// The agent of a task, or the reason why there is none.
    pub(crate) fn prepared_agent(&self, task: TaskId) -> Result<Arc<PreparedAgent>, String> {
        self.context.prepared_agent(task)
    }

    /// Why an agent with this definition and model cannot be started.
    pub(crate) fn agent_problems(&self, agent: &AgentSpec, model: Option<&str>) -> Vec<String> {
        let invalid = definition::definition_of(agent).err();
        let unusable = self.context.model_for(agent, model).err().map(|error| error.to_string());
        invalid.into_iter().chain(unusable).collect()
    }

    /// The start of an agent below the main agent, or the reason why it cannot be started.
    pub(crate) fn spawn(&self, agent: &AgentSpec, name: &str, model: Option<&str>) -> Result<SpawnBuilder, String> {
        let model = self.context.model_for(agent, model).map_err(|error| error.to_string())?;
        Ok(SpawnBuilder::agent(&self.context, agent, name, model)?.below(self.root).finishes())
    }

    /// The input that starts a task, and the task's id.
    pub(crate) fn spawn_input(&self, spawn: SpawnBuilder) -> (TaskId, KernelInput) {
        let spawn = spawn.build(&self.context);
        (spawn.id, KernelInput::Spawn(spawn))
    }

    /// The verdict on a command that a task would run with a tool.
    pub(crate) async fn judge(&self, task: TaskId, tool: &'static str, command: &str) -> Result<Verdict, String> {
        let (prepared, workspace) = (self.context.prepared_agent(task)?, self.context.task_workspace(task)?);
        let verdict =
            permission_check::judge_command(&self.context.workplace, &prepared, &workspace, tool, command).await;
        verdict.map_err(|error| error.to_string())
    }

    /// Runs a check in the subfolder of a checkout, for the main agent. The error says why it fails or may not run.
    pub(crate) async fn run_check(&self, checkout: &Path, subfolder: &Path, command: &str) -> Result<(), String> {
        let root = self.root;
        let run = self.query(move |kernel| kernel.task(root).map(kernel::KernelTask::run_id)).await;
        let Ok(Some(run)) = run else { return Err("the session is closing".into()) };
        let workspace = TaskWorkspace::checkout(checkout, subfolder, self.env()).map_err(|error| error.to_string())?;
        match crate::expectations::check_command_at(&self.context, run, &Arc::new(workspace), command).await? {
            None => Ok(()),
            Some(failure) => Err(failure),
        }
    }

    /// Git in the folder that the main agent works in.
    pub(crate) fn git(&self) -> Result<Git, String> {
        let workspace = self.context.task_workspace(self.root)?;
        Ok(Git::new(self.context.workplace.guardian.clone(), workspace.cwd(), self.env()))
    }

    /// Git in the session's folder.
    pub(crate) fn git_in_cwd(&self) -> Git {
        Git::new(self.context.workplace.guardian.clone(), self.cwd(), self.env())
    }

    /// The folder that the session works in.
    pub(crate) fn cwd(&self) -> &Path {
        &self.context.facts.cwd
    }

    /// Gives up a task's checkout, with its lease.
    pub(crate) fn release_checkout(&self, task: TaskId) {
        drop(self.context.workplace.task_workspaces.take_checkout(task));
    }

    fn env(&self) -> &[(OsString, OsString)] {
        &self.context.workplace.env
    }
}
