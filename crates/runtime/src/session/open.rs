//! A session begins, or goes on in another process.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use git::Git;
use host::{Guardian, HomeError, IdleSession, Lineage, ProcessIdentity, Workspace};
use kernel::{Impossible, Input, Kernel};
use net::fetch::Fetcher;
use policy::{Act, Request, Role};
use protocol::{
    AgentSpec, At, Budget, Envelope, Event, Fence, Kind, Origin, Rest, RuleEffect, SessionId, Source, TaskId, TaskSpec,
    TermLimits, Terms,
};
use store::{Opened, Reader, SessionFile, StoreError};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Session;
use crate::agent::{Conversations, Deadline, Desk, Performer};
use crate::api::Api;
use crate::autopilot::Autopilot;
use crate::bus::Bus;
use crate::catalog::Catalog;
use crate::commands::Lookout;
use crate::definition;
use crate::governor::Governor;
use crate::grants::Grants;
use crate::hooks::{self, Listeners, Manner, Partings};
use crate::instructions::{InstructionPlaces, Instructions};
use crate::lists::SharedList;
use crate::merging::Merging;
use crate::outfit::Outfits;
use crate::own::Given;
use crate::plan;
use crate::redact::Redactor;
use crate::roster::Roster;
use crate::settings::Settings;
use crate::sites::{Site, Sites};
use crate::space::Tables;
use crate::supervisor::{Parts, Rejected, Supervision};
use crate::todos::{Clerk, Todos, Untaken};
use crate::watch::Watchman;

/// How a session begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Anew.
    New,
    /// Where another process left it.
    Resume(SessionId),
    /// As a copy of another; nothing that is under way there goes on here.
    Fork(SessionId),
}

/// Why a session did not begin.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its file could not be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The folder it works in cannot be used.
    #[error("cannot work in {folder}: {source}; choose another folder with -C or --add-dir")]
    Folder {
        /// The folder.
        folder: String,
        /// Why.
        source: io::Error,
    },
    /// The log contradicts itself.
    #[error("event {seq} of the session contradicts those before it: {defect}; `bosun sessions export` shows them")]
    Log {
        /// The event.
        seq: u64,
        /// In which way.
        defect: Impossible,
    },
    /// It has no root task: its first commit never happened.
    #[error("session {0} never began; remove it with `bosun sessions rm {0}`")]
    Empty(SessionId),
    /// Its first input was not taken.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// Its own agent cannot be had.
    #[error("{0}")]
    Agent(String),
    /// Something that an earlier owner started still runs.
    #[error(transparent)]
    Busy(#[from] HomeError),
    /// The machine did not tell who this process is.
    #[error("cannot tell this process from others: {0}")]
    Machine(io::Error),
}

impl From<Untaken> for OpenError {
    fn from(untaken: Untaken) -> OpenError {
        match untaken {
            Untaken::Store(error) => OpenError::Store(error),
            Untaken::Rejected(rejected) => OpenError::Rejected(rejected),
        }
    }
}

impl Session {
    /// Opens a session in this process. What was interrupted or left for it goes on with [`Session::resume`].
    pub async fn open(mut settings: Settings, start: Start) -> Result<Session, OpenError> {
        let workspace = workspace(&settings)?;
        let owner = ProcessIdentity::current().map_err(OpenError::Machine)?;
        let now = settings.clock.now();
        let (id, opened) = own(&settings, start, &owner, now)?;
        let Opened { writer, fence, log, forked_from } = opened;
        let mut settled = settle(&settings, id).await?;
        let had_programs = settled.had_programs();
        store::clear_unproven(&settings.home, id, &mut settled)?;
        let guardian = Guardian::new(settings.guardian.clone()).holding(settled.lock);
        if had_programs {
            clear_ref_locks(&settings, &guardian, id).await;
        }
        let left = match start {
            Start::New => Vec::new(),
            Start::Resume(_) | Start::Fork(_) => Reader::open(&settings.home, id)?.pending_commands()?,
        };
        let kernel = fold(settings.limits.clone(), &log)?;
        let last_seq = log.last().map_or(0, |envelope| envelope.seq);
        let grants = Arc::new(Grants::new(settings.policy.clone()));
        let roster = Arc::new(Roster::default());
        for envelope in &log {
            grants.read(&envelope.entry.event);
            roster.read(&envelope.entry);
        }
        let of_flags = |envelope: &Envelope| match &envelope.entry.event {
            Event::AgentDefined { spec, .. } if spec.source == Source::Flag => Some((**spec).clone()),
            _other => None,
        };
        let recalled: Vec<AgentSpec> = log.iter().rev().filter_map(of_flags).collect();
        if !recalled.is_empty() {
            Arc::make_mut(&mut settings.catalog).recall(recalled);
        }
        drop(log);
        let known_root = kernel.root();

        let (todos, asked) = Todos::new();
        let (desk, notices) = desk(settings, id, guardian, workspace, Arc::clone(&grants), Arc::clone(&roster), todos);
        let (clock, bus) = (Arc::clone(&desk.settings.clock), desk.bus.clone());
        let redactor = desk.redactor.clone();
        let parts = Parts { session: id, kernel, last_seq, writer, clock, bus, redactor, grants, roster };
        let at = Arc::clone(&desk);
        let supervision = Supervision::start(parts, move |_supervisor| Arc::new(Performer(at)));
        let first = match start {
            Start::New => begin(&desk)?,
            Start::Resume(_) | Start::Fork(_) => First {
                root: known_root.ok_or(OpenError::Empty(id))?,
                inputs: adopt(&desk, known_root, fence, forked_from),
            },
        };
        let root = first.root;
        let defined = defined(&desk.settings.catalog);
        // They line up together: nothing is decided between them, and one commit holds them all.
        let taken =
            join_all(first.inputs.into_iter().chain(defined).map(|input| supervision.supervisor.submit(input))).await;
        taken.into_iter().collect::<Result<Vec<_>, Rejected>>()?;
        let mut clerk = Clerk::new(Arc::clone(&desk), supervision.supervisor.clone(), asked);
        if start != Start::New {
            clerk.take_left().await?;
        }
        let (looked, first_look) = watch::channel(false);
        let (inside, insiders) = rpc::Inside::new();
        let merging = Arc::new(Merging::new(Arc::clone(&desk), supervision.supervisor.clone(), root));
        let mut session = Session {
            id,
            root,
            first_seq: last_seq,
            desk,
            notices,
            supervision,
            merging,
            attendants: JoinSet::new(),
            go: Arc::default(),
            left,
            looked: first_look,
            closing: CancellationToken::new(),
            inside,
            partings: None,
        };
        let supervisor = session.supervision.supervisor.clone();
        session.partings = Partings::begin(&session.desk, &supervisor, last_seq, manner(start)).await?;
        hooks::started(&session.desk, &supervisor, root, origin(start)).await;
        session.attendants.spawn(clerk.serve());
        session.attend(looked, insiders).await;
        match start {
            Start::New | Start::Fork(_) => session.go.notify_one(),
            // What was left for it is applied when it is told to go on.
            Start::Resume(_) => {}
        }
        Ok(session)
    }

    /// Watches over what runs, listens on the socket and applies what was left for the session.
    async fn attend(&mut self, looked: watch::Sender<bool>, insiders: rpc::Insiders) {
        let supervisor = self.supervision.supervisor.clone();
        let (settings, wards) = (&self.desk.settings, Arc::clone(&self.desk.wards));
        let watchman = Watchman::new(settings.watch.clone(), wards, Arc::clone(&settings.clock), supervisor.clone());
        self.attendants.spawn(watchman.stand());
        let autopilot = Autopilot {
            desk: Arc::clone(&self.desk),
            supervisor: supervisor.clone(),
            status: self.supervision.status.clone(),
            looked: self.looked.clone(),
        };
        self.attendants.spawn(autopilot.stand());
        let lookout = Lookout {
            desk: Arc::clone(&self.desk),
            root: self.root,
            supervisor: supervisor.clone(),
            left: self.left.clone(),
        };
        self.attendants.spawn(lookout.watch(Arc::clone(&self.go), looked));
        let listener = rpc::local::listen(&self.desk.settings.home.socket(self.id), is_person).await;
        let listener = listener.inspect_err(|error| tracing::warn!(%error, "the session has no socket")).ok();
        let status = self.supervision.status.clone();
        let api = Api { desk: Arc::clone(&self.desk), supervisor, root: self.root, status };
        self.attendants.spawn(rpc::serve(listener, insiders, Arc::new(api), self.closing.clone()));
    }
}

/// Whether a client speaks for a person. A command of an agent does not, though it is a process of the same user.
fn is_person(client: u32) -> bool {
    let lineage = Lineage::of(client);
    if lineage != Lineage::Person {
        tracing::warn!(client, ?lineage, "a process may not use the session's socket");
    }
    lineage == Lineage::Person
}

fn origin(start: Start) -> ::hooks::Origin {
    match start {
        Start::New => ::hooks::Origin::New,
        Start::Resume(_) => ::hooks::Origin::Resume,
        Start::Fork(_) => ::hooks::Origin::Fork,
    }
}

/// A copy parts from what it copied without a word: hooks hear of that from the original.
fn manner(start: Start) -> Manner {
    match start {
        Start::New | Start::Resume(_) => Manner::Told,
        Start::Fork(_) => Manner::Silent,
    }
}

struct First {
    root: TaskId,
    inputs: Vec<Input>,
}

/// What an owner that comes after another begins with. A fork whose first owner died before it could say what it is
/// says it now.
fn adopt(desk: &Desk, root: Option<TaskId>, fence: Fence, forked_from: Option<SessionId>) -> Vec<Input> {
    let main = root.and_then(|root| desk.roster.definition(root));
    let adopt = Input::Adopt { fence, terms: terms(&desk.settings, main.as_deref()) };
    let fork = forked_from.map(|from| Input::Fork { from });
    std::iter::once(adopt).chain(fork).chain(mode(&desk.settings)).collect()
}

fn begin(desk: &Desk) -> Result<First, OpenError> {
    let settings = &desk.settings;
    let main = settings.main.as_ref();
    if let Some(main) = main.filter(|main| main.isolation.is_some()) {
        let name = &main.name;
        let words = format!("`{name}` works in a checkout of its own, and the session's own agent works in yours");
        return Err(OpenError::Agent(format!("{words}; start it as a subagent, or take `isolation` out of its file")));
    }
    let definition = main.map(definition::of).transpose().map_err(OpenError::Agent)?;
    let root = TaskId::new(settings.ids.uuid());
    let terms = terms(settings, main);
    let spec = TaskSpec {
        description: "the session's own conversation".into(),
        rest: Rest::Idle,
        max_turns: terms.root_turns,
        budget: terms.budget,
        definition: definition.as_ref().map(|definition| definition.id.clone()),
        model: main.map(|main| definition::model(main, settings)).transpose().map_err(OpenError::Agent)?.flatten(),
        ..TaskSpec::new(Kind::Main, main.map_or("main", |main| main.name.as_str()), "root")
    };
    Ok(First {
        root,
        inputs: [Input::Open { root, spec, definition, terms }].into_iter().chain(mode(settings)).collect(),
    })
}

/// What keeps the agents that were defined for this session alone, so that whoever goes on with it has them too.
fn defined(catalog: &Catalog) -> Option<Input> {
    let flagged = catalog.agents.iter().filter(|agent| agent.source == Source::Flag);
    // Those that cannot be started say so when somebody tries.
    let definitions: Vec<_> = flagged.filter_map(|agent| definition::of(agent).ok()).collect();
    (!definitions.is_empty()).then_some(Input::Define(definitions))
}

/// The mode that whoever opens the session wants, if they say so.
fn mode(settings: &Settings) -> Option<Input> {
    settings.mode.map(|mode| Input::SetMode { mode, by: Origin::User })
}

/// How the session is run. What nobody says is as the definition of its own agent has it.
fn terms(settings: &Settings, main: Option<&AgentSpec>) -> Terms {
    let budget = if settings.budget == Budget::default() { main.map(|main| main.budget) } else { None };
    Terms {
        cwd: settings.cwd.display().to_string(),
        model: settings.model_spec.clone(),
        permission: settings.policy.mode,
        rules: settings.rules.clone(),
        roots: settings.roots.iter().map(|root| root.display().to_string()).collect(),
        ask_user: settings.ask_user,
        max_turns: settings.max_turns,
        root_turns: main.and_then(|main| main.max_turns),
        limits: term_limits(&settings.limits),
        budget: budget.unwrap_or(settings.budget),
        effort: settings.effort,
        list: settings.list.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
    }
}

/// The limits that whoever resumes the session has again, unless they say otherwise.
fn term_limits(limits: &kernel::Limits) -> TermLimits {
    let kernel::Limits { live, depth, total, rate, continues, .. } = limits;
    TermLimits {
        live: Some(*live),
        depth: Some(*depth),
        total: Some(*total),
        rate: Some(*rate),
        continues: Some(*continues),
    }
}

fn workspace(settings: &Settings) -> Result<Workspace, OpenError> {
    let unusable = |folder: &Path| {
        let folder = folder.display().to_string();
        move |source| OpenError::Folder { folder, source }
    };
    // Each of them alone first, so that the right one is named.
    for root in &settings.roots {
        Workspace::new(root, &[]).map_err(unusable(root))?;
    }
    Workspace::new(&settings.cwd, &settings.roots).map_err(unusable(&settings.cwd))
}

/// Makes this process the owner of the session's file.
fn own(settings: &Settings, start: Start, owner: &ProcessIdentity, now: At) -> Result<(SessionId, Opened), StoreError> {
    let (home, probe) = (&settings.home, Arc::clone(&settings.probe));
    match start {
        Start::New => {
            let id = settings.id.unwrap_or_else(|| SessionId::new(settings.ids.uuid()));
            Ok((id, SessionFile::create_probed(home, id, owner, now, probe)?))
        }
        Start::Resume(id) => Ok((id, SessionFile::adopt_probed(home, id, owner, now, probe)?)),
        Start::Fork(from) => {
            let id = settings.id.unwrap_or_else(|| SessionId::new(settings.ids.uuid()));
            store::fork_session(home, from, id)?;
            if let Err(error) = plan::copy(home, from, id) {
                tracing::warn!(%error, "the copy has no plan");
            }
            Ok((id, SessionFile::adopt_probed(home, id, owner, now, probe)?))
        }
    }
}

fn fold(limits: kernel::Limits, log: &[Envelope]) -> Result<Kernel, OpenError> {
    let mut kernel = Kernel::new(limits);
    for envelope in log {
        kernel.evolve(&envelope.entry).map_err(|defect| OpenError::Log { seq: envelope.seq, defect })?;
    }
    Ok(kernel)
}

/// Whether somebody may answer a question: only there is it offered.
fn is_answered(settings: &Settings) -> bool {
    settings.ask_user && settings.ask_wait != Some(Duration::ZERO)
}

/// Takes the session when nothing runs any more that an earlier owner started.
async fn settle(settings: &Settings, id: SessionId) -> Result<IdleSession, OpenError> {
    match settings.home.try_settle_session(id)? {
        Some(settled) => Ok(settled),
        // Only where an earlier owner ran programs is there something to wait for.
        None => {
            let home = settings.home.clone();
            let settled = tokio::task::spawn_blocking(move || home.settle_session(id)).await;
            Ok(settled.map_err(|error| OpenError::Machine(io::Error::other(error)))??)
        }
    }
}

/// Removes what a git command of an earlier owner left locked. If that fails, the command that needs the ref says so.
async fn clear_ref_locks(settings: &Settings, guardian: &Guardian, id: SessionId) {
    let git = Git::new(guardian.clone(), &settings.cwd, &settings.env);
    match git::clear_ref_locks(&git, id).await {
        Ok(0) => {}
        Ok(count) => tracing::info!(count, "removed locks of refs that a killed git command left"),
        Err(error) => tracing::warn!(%error, "cannot look for locks that a killed git command left"),
    }
}

/// The instruction files that every agent is told. What they import is held to the rules on reading.
fn instructions(settings: &Settings, cwd: &Path) -> Instructions {
    let policy = &settings.policy;
    let may_read = |path: &Path| {
        let request = Request { tool: "view".into(), acts: vec![Act::Read(path.to_owned())] };
        policy.check(&Role::default(), &request).effect != RuleEffect::Deny
    };
    let (top, home, user) = (policy.top.as_path(), settings.home.root(), policy.user.as_deref());
    Instructions::read(&InstructionPlaces { cwd, top, home, user, may_read: &may_read })
}

fn desk(
    settings: Settings,
    id: SessionId,
    guardian: Guardian,
    workspace: Workspace,
    grants: Arc<Grants>,
    roster: Arc<Roster>,
    todos: Todos,
) -> (Arc<Desk>, Vec<crate::Notice>) {
    let mut instructions = instructions(&settings, workspace.cwd());
    let notices = std::mem::take(&mut instructions.notices);
    let desk = Desk {
        session: id,
        instructions,
        roster,
        outfits: Outfits::default(),
        given: Given::default(),
        asks_user: is_answered(&settings),
        withheld: [tools::ask_user(), tools::task(&[])].into_iter().chain(tools::crew()).collect(),
        sites: Sites::new(Site::shared(workspace, settings.env.clone())),
        listeners: Listeners::new(&settings, guardian.clone()),
        guardian,
        tables: Tables::new(settings.home.session_db(id), todos.clone()),
        todos,
        fetcher: Fetcher::new(settings.route.clone(), net::fetch::Limits::default()),
        deadline: Deadline::after(settings.timeout),
        grants,
        redactor: Redactor::new(&settings.secrets),
        governor: Governor::open(settings.home.clone(), Arc::clone(&settings.clock)),
        bus: Bus::new(settings.home.clone(), id),
        stamps: Mutex::default(),
        list: Arc::new(SharedList::new(&settings, id)),
        wards: Arc::default(),
        compactions: Mutex::default(),
        snapshots: Mutex::default(),
        large: Mutex::default(),
        log: Mutex::default(),
        conversations: Conversations::default(),
        settings,
    };
    (Arc::new(desk), notices)
}
