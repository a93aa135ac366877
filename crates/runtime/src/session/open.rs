//! Opens a session: new, resumed or forked.

use std::io;
use std::path::Path;
use std::sync::Arc;

use client::SessionHandle;
use futures_util::future::join_all;
use git::Git;
use host::{Guardian, HomeError, IdleSession, Lineage, ProcessIdentity, Workspace};
use kernel::{InvalidEvent, Kernel, KernelInput};
use policy::{AgentRole, PermissionRequest, RequestedAct};
use protocol::{
    AgentLimits, AgentSpec, Budget, CompletionPolicy, DefinitionSource, Envelope, Event, Fence, Hinted, Principal,
    RuleEffect, SessionConfig, SessionId, TaskId, TaskSpec, Timestamp,
};
use store::file_history::FileHistory;
use store::{OwnedSession, SessionFile, SessionReader, StoreError, plan};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Session;
use super::owner::InProcessOwner;
use crate::api::SessionApi;
use crate::autopilot::Autopilot;
use crate::catalog::Catalog;
use crate::commands::StoredCommands;
use crate::definition::{self, DefinitionError};
use crate::executors::Executors;
use crate::fleet::{FleetControl, FleetQueue, FleetRunner, FleetSession};
use crate::grants::Grants;
use crate::hooks::{self, OpenActivationPolicy, StopHookRuns};
use crate::instructions::{InstructionPlaces, Instructions};
use crate::roster::Roster;
use crate::session_context::{OpenedParts, SessionContext};
use crate::session_title::SessionTitler;
use crate::settings::SessionSettings;
use crate::supervisor::{InputRejection, Supervisor, SupervisorParts, SupervisorTask};
use crate::todos::{TodoSync, TodoSyncError, TodoSyncHandle};
use crate::watchdog::{Watchdog, WatchdogSettings};

/// How to open a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionStart {
    /// Start a new session.
    New,
    /// Resume a session where another process left it.
    Resume(SessionId),
    /// Start a copy of another session; its running work does not continue in the copy.
    Fork(SessionId),
}

/// Why a session could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum SessionOpenError {
    /// The session's file could not be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A folder of the session cannot be used.
    #[error("cannot work in {folder}: {source}")]
    Folder {
        /// The folder.
        folder: String,
        /// Why.
        source: io::Error,
    },
    /// The log contradicts itself.
    #[error("event {seq} of the session contradicts those before it: {defect}")]
    Log {
        /// The event.
        seq: u64,
        /// The contradiction.
        defect: InvalidEvent,
    },
    /// The session has no root task: its first commit never happened.
    #[error("session {0} was never started")]
    Empty(SessionId),
    /// The kernel rejected the first inputs.
    #[error(transparent)]
    Rejected(#[from] InputRejection),
    /// The root agent cannot be started.
    #[error(transparent)]
    Agent(#[from] DefinitionError),
    /// The root agent works in a checkout.
    #[error("`{0}` works in its own checkout, but the root agent works in yours")]
    OwnCheckout(String),
    /// The root agent works in a process of its own.
    #[error("`{0}` works in a process of its own, but the root agent works in that of the session")]
    OwnProcess(String),
    /// A program that an earlier owner started still runs.
    #[error(transparent)]
    Busy(#[from] HomeError),
    /// The identity of this process could not be read.
    #[error("cannot read the identity of this process: {0}")]
    Machine(io::Error),
}

impl Hinted for SessionOpenError {
    fn hint(&self) -> Option<String> {
        match self {
            SessionOpenError::Agent(error) => error.hint(),
            SessionOpenError::OwnCheckout(_) => {
                Some("start it as a subagent, or remove `isolation` from its file".into())
            }
            SessionOpenError::OwnProcess(_) => Some("start it as a subagent, or remove `place` from its file".into()),
            SessionOpenError::Empty(session) => Some(format!("remove it with `bosun sessions rm {session}`")),
            SessionOpenError::Log { .. } => Some("`bosun sessions export` shows its events".into()),
            SessionOpenError::Folder { .. } => Some("choose another folder with -C or --add-dir".into()),
            SessionOpenError::Store(_)
            | SessionOpenError::Rejected(_)
            | SessionOpenError::Busy(_)
            | SessionOpenError::Machine(_) => None,
        }
    }
}

impl From<TodoSyncError> for SessionOpenError {
    fn from(error: TodoSyncError) -> SessionOpenError {
        match error {
            TodoSyncError::Store(error) => SessionOpenError::Store(error),
            TodoSyncError::Rejected(rejected) => SessionOpenError::Rejected(rejected),
        }
    }
}

impl Session {
    /// Opens a session in this process. [`Session::resume`] continues interrupted work and pending commands.
    pub async fn open(mut settings: SessionSettings, start: SessionStart) -> Result<Session, SessionOpenError> {
        let workspace = open_workspace(&settings)?;
        let owner = ProcessIdentity::current().map_err(SessionOpenError::Machine)?;
        let now = settings.clock.now();
        let (id, opened) = acquire_session(&settings, start, &owner, now)?;
        let OwnedSession { writer, fence, log, forked_from } = opened;
        let mut settled = settle_session(&settings, id).await?;
        let had_programs = settled.had_programs();
        store::refuse_unverified(&settings.home, id, &mut settled)?;
        let guardian = Guardian::new(settings.guardian.clone()).with_lock(settled.lock);
        if had_programs {
            clear_ref_locks(&settings, &guardian, id).await;
        }
        let pending_commands = match start {
            SessionStart::New => Vec::new(),
            SessionStart::Resume(_) | SessionStart::Fork(_) => {
                SessionReader::open(&settings.home, id)?.pending_commands()?
            }
        };
        let kernel = replay(settings.limits.clone(), &log)?;
        let switched_servers = kernel.root_control().mcp_servers.clone();
        let last_seq = log.last().map_or(0, |envelope| envelope.seq);
        let grants = Arc::new(Grants::new(settings.policy.clone()));
        let roster = Arc::new(Roster::default());
        for envelope in &log {
            grants.apply_event(&envelope.entry.event);
            roster.apply_event(&envelope.entry);
        }
        let defined_by_flag = |envelope: &Envelope| match &envelope.entry.event {
            Event::AgentDefined { spec, .. } if spec.source == DefinitionSource::Flag => Some((**spec).clone()),
            _other => None,
        };
        let restored: Vec<AgentSpec> = log.iter().rev().filter_map(defined_by_flag).collect();
        if !restored.is_empty() {
            Arc::make_mut(&mut settings.catalog).restore_defined(restored);
        }
        let without = &settings.client_extensions.offer.without_agents;
        if !without.is_empty() {
            Arc::make_mut(&mut settings.catalog).remove_built_in(without);
        }
        drop(log);
        let logged_root = kernel.root();

        let (todos, requests) = TodoSyncHandle::new();
        let (fleet, fleets) = match settings.fleet_runner.clone() {
            Some(runner) => {
                let (fleet, queue) = FleetControl::new();
                (fleet, Some((runner, queue)))
            }
            None => (FleetControl::without_runner(), None),
        };
        let initial = match start {
            SessionStart::New => first_inputs(&settings)?,
            SessionStart::Resume(_) | SessionStart::Fork(_) => {
                let root = logged_root.ok_or(SessionOpenError::Empty(id))?;
                let main = roster.definition(root);
                FirstInputs { root, inputs: adoption_inputs(&settings, main.as_deref(), fence, forked_from) }
            }
        };
        let root = initial.root;
        let definitions = definition_input(&settings.catalog);
        let mut instructions = read_instructions(&settings, workspace.cwd());
        let notices = std::mem::take(&mut instructions.notices);
        let (log_grants, log_roster) = (Arc::clone(&grants), Arc::clone(&roster));
        let parts =
            OpenedParts { session: id, guardian, workspace, instructions, grants, roster, todo_sync: todos, fleet };
        let context = Arc::new(SessionContext::new(&settings, parts));
        context.restore_mcp_servers(&switched_servers);
        let parts = SupervisorParts {
            session: id,
            kernel,
            last_seq,
            writer,
            clock: Arc::clone(&context.facts.clock),
            bus: context.log.bus.clone(),
            redactor: context.workplace.redactor.clone(),
            grants: log_grants,
            roster: log_roster,
        };
        let supervision = SupervisorTask::start(parts, Executors::local(&context));
        // Submitted together, so that nothing is decided between them and one commit holds them all.
        let submitted =
            join_all(initial.inputs.into_iter().chain(definitions).map(|input| supervision.supervisor.submit(input)))
                .await;
        submitted.into_iter().collect::<Result<Vec<_>, InputRejection>>()?;
        let mut sync = TodoSync::new(Arc::clone(&context), supervision.supervisor.clone(), requests);
        if start != SessionStart::New {
            sync.sync_pending().await?;
        }
        let (applied, commands_applied) = watch::channel(false);
        let (connector, in_process) = rpc::InProcessConnector::new();
        let owner = InProcessOwner {
            home: context.facts.home.clone(),
            id,
            connector,
            bus: context.log.bus.clone(),
            status: supervision.status.clone(),
        };
        let mut session = Session {
            id,
            root,
            first_seq: last_seq,
            context,
            notices,
            supervision,
            background_tasks: JoinSet::new(),
            resume_signal: Arc::default(),
            pending_commands,
            commands_applied,
            closing: CancellationToken::new(),
            handle: SessionHandle::in_process(Arc::new(owner)),
            stop_hook_runs: None,
            title_done: watch::channel(true).1,
        };
        let supervisor = session.supervision.supervisor.clone();
        session.stop_hook_runs =
            StopHookRuns::begin(&session.context, &supervisor, last_seq, stop_hook_mode(start)).await?;
        hooks::session_started(&session.context, &supervisor, root, origin(start)).await;
        session.background_tasks.spawn(sync.serve());
        session.start_background_tasks(settings.watchdog, applied, in_process, fleets).await;
        match start {
            SessionStart::New | SessionStart::Fork(_) => session.resume_signal.notify_one(),
            // Pending commands are applied in `Session::resume`.
            SessionStart::Resume(_) => {}
        }
        Ok(session)
    }

    /// Starts the watchdog, the autopilot, the command listener, the runner of fleets, and the socket.
    async fn start_background_tasks(
        &mut self,
        watchdog: WatchdogSettings,
        applied: watch::Sender<bool>,
        in_process: rpc::InProcessRequests,
        fleets: Option<(Arc<dyn FleetRunner>, FleetQueue)>,
    ) {
        let supervisor = self.supervision.supervisor.clone();
        let (clock, watched_runs) = (Arc::clone(&self.context.facts.clock), Arc::clone(&self.context.watched_runs));
        let watchdog = Watchdog::new(watchdog, watched_runs, clock, supervisor.clone());
        self.background_tasks.spawn(watchdog.run());
        let autopilot = Autopilot {
            context: Arc::clone(&self.context),
            supervisor: supervisor.clone(),
            status: self.supervision.status.clone(),
            commands_applied: self.commands_applied.clone(),
        };
        self.background_tasks.spawn(autopilot.run());
        self.start_titler(&supervisor);
        let listener = StoredCommands {
            context: Arc::clone(&self.context),
            root: self.root,
            supervisor: supervisor.clone(),
            pending: self.pending_commands.clone(),
        };
        self.background_tasks.spawn(listener.run(Arc::clone(&self.resume_signal), applied));
        if let Some((runner, queue)) = fleets {
            let opened = (self.first_seq, self.closing.clone());
            let session = FleetSession::new(Arc::clone(&self.context), supervisor.clone(), self.root, opened);
            self.background_tasks.spawn(runner.run(session, queue));
        }
        let listener = rpc::local::listen(&self.context.facts.home.socket(self.id), acts_for_user).await;
        let listener = listener.inspect_err(|error| tracing::warn!(%error, "the session has no socket")).ok();
        let status = self.supervision.status.clone();
        let api = SessionApi { context: Arc::clone(&self.context), supervisor, root: self.root, status };
        self.background_tasks.spawn(rpc::serve(listener, in_process, Arc::new(api), self.closing.clone()));
    }
}

impl Session {
    /// Asks for a title when the root has answered, if the user wants titles.
    fn start_titler(&mut self, supervisor: &Supervisor) {
        if !self.context.facts.features.session_titles {
            return;
        }
        let (is_done, title_done) = watch::channel(false);
        self.title_done = title_done;
        let (context, supervisor, root) = (Arc::clone(&self.context), supervisor.clone(), self.root);
        self.background_tasks.spawn(SessionTitler { context, supervisor, root, is_done }.run());
    }
}

/// Whether the process of a client acts for the user. A command of an agent does not, although it is a process of the same user.
pub fn acts_for_user(client: u32) -> bool {
    let lineage = Lineage::of(client);
    if lineage != Lineage::Person {
        tracing::warn!(client, ?lineage, "refused a process on the session's socket");
    }
    lineage == Lineage::Person
}

fn origin(start: SessionStart) -> ::hooks::SessionOrigin {
    match start {
        SessionStart::New => ::hooks::SessionOrigin::New,
        SessionStart::Resume(_) => ::hooks::SessionOrigin::Resume,
        SessionStart::Fork(_) => ::hooks::SessionOrigin::Fork,
    }
}

/// A fork runs no stop hooks for copied activations: the original session runs them.
fn stop_hook_mode(start: SessionStart) -> OpenActivationPolicy {
    match start {
        SessionStart::New | SessionStart::Resume(_) => OpenActivationPolicy::Run,
        SessionStart::Fork(_) => OpenActivationPolicy::Skip,
    }
}

struct FirstInputs {
    root: TaskId,
    inputs: Vec<KernelInput>,
}

/// The first inputs of a new owner of an existing session. They also record a fork that is not recorded yet.
fn adoption_inputs(
    settings: &SessionSettings,
    main: Option<&AgentSpec>,
    fence: Fence,
    forked_from: Option<SessionId>,
) -> Vec<KernelInput> {
    let adopt = KernelInput::Adopt { fence, config: session_config(settings, main) };
    let fork = forked_from.map(|from| KernelInput::Fork { from });
    std::iter::once(adopt).chain(fork).chain(mode_input(settings)).collect()
}

fn first_inputs(settings: &SessionSettings) -> Result<FirstInputs, SessionOpenError> {
    let main = settings.main_agent.as_ref();
    if let Some(main) = main.filter(|main| main.isolation.is_some()) {
        return Err(SessionOpenError::OwnCheckout(main.name.clone()));
    }
    if let Some(main) = main.filter(|main| main.place.is_some()) {
        return Err(SessionOpenError::OwnProcess(main.name.clone()));
    }
    let definition = main.map(definition::definition_of).transpose()?;
    let root = TaskId::new(settings.ids.uuid());
    let config = session_config(settings, main);
    let spec = TaskSpec {
        description: "the session's own conversation".into(),
        on_complete: CompletionPolicy::Idle,
        max_turns: config.root_turns,
        budget: config.budget,
        definition: definition.as_ref().map(|definition| definition.id.clone()),
        model: main
            .map(|main| definition::main_model(main, &*settings.models, &settings.model_spec))
            .transpose()?
            .flatten(),
        ..TaskSpec::root(main.map_or("main", |main| main.name.as_str()))
    };
    Ok(FirstInputs {
        root,
        inputs: [KernelInput::Open { root, spec, definition, config }]
            .into_iter()
            .chain(mode_input(settings))
            .collect(),
    })
}

/// Stores the agents that are defined for this session only, so that a later owner has them too.
fn definition_input(catalog: &Catalog) -> Option<KernelInput> {
    let flagged = catalog.agents.iter().filter(|agent| agent.source == DefinitionSource::Flag);
    // An invalid definition is reported when an agent is started with it.
    let definitions: Vec<_> = flagged.filter_map(|agent| definition::definition_of(agent).ok()).collect();
    (!definitions.is_empty()).then_some(KernelInput::Define(definitions))
}

/// The mode that the settings request, if any.
fn mode_input(settings: &SessionSettings) -> Option<KernelInput> {
    settings.mode.map(|mode| KernelInput::SetMode { mode, by: Principal::User })
}

/// The configuration of the session. The root agent's definition supplies what the settings leave open.
fn session_config(settings: &SessionSettings, main: Option<&AgentSpec>) -> SessionConfig {
    let budget = if settings.budget == Budget::default() { main.map(|main| main.budget) } else { None };
    SessionConfig {
        cwd: settings.cwd.display().to_string(),
        model: settings.model_spec.clone(),
        permission: settings.policy.mode,
        rules: settings.rules.clone(),
        roots: settings.added_folders.iter().map(|root| root.display().to_string()).collect(),
        ask_user: settings.ask_user,
        max_turns: settings.max_turns,
        root_turns: main.and_then(|main| main.max_turns),
        limits: config_limits(&settings.limits),
        budget: budget.unwrap_or(settings.budget),
        effort: settings.effort,
        list: settings.list.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
    }
}

/// The limits that apply again when the session is resumed, unless its settings override them.
fn config_limits(limits: &kernel::SessionLimits) -> AgentLimits {
    let kernel::SessionLimits { live, depth, total, rate, max_continues: continues, .. } = limits;
    AgentLimits {
        live: Some(*live),
        depth: Some(*depth),
        total: Some(*total),
        rate: Some(*rate),
        continues: Some(*continues),
    }
}

fn open_workspace(settings: &SessionSettings) -> Result<Workspace, SessionOpenError> {
    let unusable = |folder: &Path| {
        let folder = folder.display().to_string();
        move |source| SessionOpenError::Folder { folder, source }
    };
    // Check each folder alone first, so that the error names the right one.
    for root in &settings.added_folders {
        Workspace::new(root, &[]).map_err(unusable(root))?;
    }
    Workspace::new(&settings.cwd, &settings.added_folders).map_err(unusable(&settings.cwd))
}

/// Makes this process the owner of the session's file.
fn acquire_session(
    settings: &SessionSettings,
    start: SessionStart,
    owner: &ProcessIdentity,
    now: Timestamp,
) -> Result<(SessionId, OwnedSession), StoreError> {
    let (home, probe) = (&settings.home, Arc::clone(&settings.probe));
    match start {
        SessionStart::New => {
            let id = settings.id.unwrap_or_else(|| SessionId::new(settings.ids.uuid()));
            Ok((id, SessionFile::create_probed(home, id, owner, now, probe)?))
        }
        SessionStart::Resume(id) => Ok((id, SessionFile::adopt_probed(home, id, owner, now, probe)?)),
        SessionStart::Fork(from) => {
            let id = settings.id.unwrap_or_else(|| SessionId::new(settings.ids.uuid()));
            store::fork_session(home, from, id)?;
            if let Err(error) = plan::copy(home, from, id) {
                tracing::warn!(%error, "the plan was not copied");
            }
            if let Err(error) = FileHistory::of(home, from).copy_to(&FileHistory::of(home, id)) {
                tracing::warn!(%error, "the changes of files were not copied, and cannot be taken back in the fork");
            }
            Ok((id, SessionFile::adopt_probed(home, id, owner, now, probe)?))
        }
    }
}

fn replay(limits: kernel::SessionLimits, log: &[Envelope]) -> Result<Kernel, SessionOpenError> {
    let mut kernel = Kernel::new(limits);
    for envelope in log {
        kernel.apply_event(&envelope.entry).map_err(|defect| SessionOpenError::Log { seq: envelope.seq, defect })?;
    }
    Ok(kernel)
}

/// Waits until no program of an earlier owner runs any more, then takes the session.
async fn settle_session(settings: &SessionSettings, id: SessionId) -> Result<IdleSession, SessionOpenError> {
    match settings.home.try_take_idle_session(id)? {
        Some(settled) => Ok(settled),
        // Wait only if an earlier owner ran programs.
        None => {
            let home = settings.home.clone();
            let settled = tokio::task::spawn_blocking(move || home.take_idle_session(id)).await;
            Ok(settled.map_err(|error| SessionOpenError::Machine(io::Error::other(error)))??)
        }
    }
}

/// Removes ref locks of a killed git command. If that fails, the command that needs the ref reports it.
async fn clear_ref_locks(settings: &SessionSettings, guardian: &Guardian, id: SessionId) {
    let git = Git::new(guardian.clone(), &settings.cwd, &settings.env);
    match git::clear_ref_locks(&git, id).await {
        Ok(0) => {}
        Ok(count) => tracing::info!(count, "removed ref locks that a killed git command left"),
        Err(error) => tracing::warn!(%error, "cannot look for locks that a killed git command left"),
    }
}

/// Reads the instruction files for all agents. Their imports are subject to the read rules.
fn read_instructions(settings: &SessionSettings, cwd: &Path) -> Instructions {
    let policy = &settings.policy;
    let may_read = |path: &Path| {
        let acts = vec![RequestedAct::Read(path.to_owned())];
        let request = PermissionRequest { tool: protocol::tool_name::VIEW.into(), acts };
        policy.check(&AgentRole::default(), &request).effect != RuleEffect::Deny
    };
    let (top, home, user) = (policy.project_dir.as_path(), settings.home.root(), policy.user_home.as_deref());
    let places = InstructionPlaces { cwd, project_dir: top, home, user_home: user, may_read: &may_read };
    Instructions::read_scopes(&places, &settings.instruction_scopes)
}
