//! A fleet begins, or goes on: from what was typed to a session with a fleet in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{Env, FleetPlan};
use host::Home;
use protocol::{FleetConfig, FleetEnd, SessionId};
use runtime::{
    FleetError, FleetHandle, FleetRequest, FleetResultCache, FleetServices, InputRejection, NoCommits, Session,
    SessionSettings, SessionStart, TodoEditError, TodoResultCache, excluded_paths,
};
use store::{SessionReader, TodoError};
use tokio::task::JoinSet;

use super::display::FleetDisplay;
use super::follow::{FleetWaitLimits, follow};
use super::progress::FleetProgress;
use super::{status, validate};
use crate::args::{FleetIsolation, FleetWorkArgs, RunArgs};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;
use crate::share::ShareFile;
use crate::{current_session, print, run, sessions};

/// How often the main agent looks at what came of its own plan.
const DEFAULT_ROUNDS: u32 = 3;

/// How often a todo is tried again.
const DEFAULT_RETRIES: u32 = 1;

/// Begins a fleet whose main agent plans.
pub(super) async fn start_from_goal(
    goal: Option<String>,
    work: &FleetWorkArgs,
    mut args: RunArgs,
) -> Result<CommandExit, CliError> {
    let goal = goal.map(|goal| goal.trim().to_owned()).filter(|goal| !goal.is_empty()).ok_or_else(|| {
        CliError::usage("there is nothing to do").with_hint("bosun fleet \"GOAL\", or bosun fleet run PLAN")
    })?;
    if !goal.contains(char::is_whitespace) {
        return Err(CliError::usage(format!("`{goal}` is neither a command of `bosun fleet` nor a goal in words"))
            .with_hint("`bosun fleet --help` lists the commands; write a goal as a sentence in quotes"));
    }
    let usual = FleetConfig {
        goal,
        agent: args.agent.take(),
        parallel: None,
        retries: DEFAULT_RETRIES,
        rounds: DEFAULT_ROUNDS,
        isolated: false,
        dirty: false,
        merge: false,
        check: None,
        plan: None,
    };
    let order = FleetRequest { terms: terms(usual, work)?, todos: Vec::new() };
    FleetLaunch {
        start: FleetSessionChoice::AsRun,
        work: FleetLaunchMode::Begin(order),
        fresh: work.fresh,
        args,
        uncommitted_check: JoinSet::new(),
    }
    .launch()
    .await
}

/// Begins a fleet that works by a plan file.
pub(super) async fn start_from_plan(file: &Path, work: &FleetWorkArgs, args: RunArgs) -> Result<CommandExit, CliError> {
    prepare_plan_launch(file, work, args)?.launch().await
}

/// The same in a new session with settings that are there.
pub(crate) async fn run_plan(
    file: &Path,
    work: &FleetWorkArgs,
    args: RunArgs,
    settings: SessionSettings,
    env: &Env,
) -> Result<CommandExit, CliError> {
    prepare_plan_launch(file, work, args)?.begin(SessionStart::New, settings, (env, None), None).await
}

fn prepare_plan_launch(file: &Path, work: &FleetWorkArgs, mut args: RunArgs) -> Result<FleetLaunch, CliError> {
    let plan = FleetPlan::read(file).map_err(|problems| {
        problems.iter().for_each(|problem| print::note(print::sanitize(&problem.to_string())));
        let wrong = print::pluralize(problems.len(), "problem");
        CliError::usage(format!("{} has {wrong}", file.display()))
            .with_hint(format!("bosun fleet check {}", file.display()))
    })?;
    args.max_budget_usd = args.max_budget_usd.or(plan.limits.budget_usd);
    args.timeout = args.timeout.or(plan.limits.timeout);
    // Whoever goes on may do so from another folder.
    let at = plan.file.canonicalize().ok().map(|at| at.display().to_string());
    let usual = plan.terms();
    let usual = FleetConfig { agent: args.agent.take(), plan: at.or(usual.plan.clone()), ..usual };
    let order = FleetRequest { terms: terms(usual, work)?, todos: plan.todos };
    Ok(FleetLaunch {
        start: FleetSessionChoice::AsRun,
        work: FleetLaunchMode::Begin(order),
        fresh: work.fresh,
        args,
        uncommitted_check: JoinSet::new(),
    })
}

/// Goes on with a fleet.
pub(super) async fn resume(id: Option<&str>, args: RunArgs) -> Result<CommandExit, CliError> {
    if args.agent.is_some() {
        return Err(
            CliError::usage("a fleet that goes on keeps the agents it was begun with").with_hint("leave --agent out")
        );
    }
    let home = Setup::read()?.home;
    let session = status::choose_session(&home, id, args.directory.as_deref())?;
    let account = FleetProgress::read(&SessionReader::open(&home, session)?, session)?;
    if account.is_some_and(|account| account.end == Some(FleetEnd::Done)) {
        print::note(format_args!("the fleet in {session} has done everything"));
        return Ok(CommandExit::Success);
    }
    let start = FleetSessionChoice::Resume(session);
    FleetLaunch { start, work: FleetLaunchMode::Resume, fresh: false, args, uncommitted_check: JoinSet::new() }
        .launch()
        .await
}

/// What was typed goes before what the plan says, and that before what is usual.
fn terms(usual: FleetConfig, work: &FleetWorkArgs) -> Result<FleetConfig, CliError> {
    let terms = FleetConfig {
        parallel: work.parallel.or(usual.parallel),
        retries: work.retries.unwrap_or(usual.retries),
        rounds: work.rounds.unwrap_or(usual.rounds),
        isolated: work.isolation.map_or(usual.isolated, |isolation| isolation == FleetIsolation::Worktree),
        dirty: work.include_dirty || usual.dirty,
        merge: work.merge || usual.merge,
        check: work.check.clone().or(usual.check),
        ..usual
    };
    validate::reject_merge_flags(work, &terms)?;
    Ok(terms)
}

/// Which session the fleet works in.
enum FleetSessionChoice {
    /// The one that a run with the same flags would have.
    AsRun,
    /// One that has a fleet.
    Resume(SessionId),
}

impl FleetSessionChoice {
    fn start(&self, args: &RunArgs, home: &Home) -> Result<SessionStart, CliError> {
        match self {
            FleetSessionChoice::AsRun => run::session_start(args, home),
            FleetSessionChoice::Resume(id) => Ok(SessionStart::Resume(*id)),
        }
    }
}

/// What the fleet does.
enum FleetLaunchMode {
    Begin(FleetRequest),
    Resume,
}

/// Everything that was typed.
struct FleetLaunch {
    start: FleetSessionChoice,
    work: FleetLaunchMode,
    fresh: bool,
    args: RunArgs,
    /// The look for files that are not committed. In a large repository it takes a while, in which the workers begin.
    uncommitted_check: JoinSet<()>,
}

impl FleetLaunch {
    /// Does it with the user's settings.
    async fn launch(self) -> Result<CommandExit, CliError> {
        validate::reject_prompt_flags(&self.args)?;
        let mut setup = Setup::read()?;
        let share = self.args.mode.share.as_deref().map(ShareFile::create).transpose()?;
        let start = self.start.start(&self.args, &setup.home)?;
        let before = match start {
            SessionStart::New => None,
            SessionStart::Resume(id) | SessionStart::Fork(id) => {
                Some(SessionReader::open(&setup.home, id)?.session_view()?)
            }
        };
        let folder = self.args.directory.as_deref().or(before.as_ref().map(|before| Path::new(&before.cwd)));
        setup.fetch_remote_catalog(folder).await;
        let settings = setup.settings(&self.args, before.as_ref())?;
        let mut launch = self;
        if let FleetLaunchMode::Begin(order) = &launch.work {
            let repository = validate::require_repository(&setup, &settings.cwd, &order.terms).await?;
            if let Some(repository) = repository.filter(|_| !order.terms.dirty) {
                launch.uncommitted_check.spawn(validate::warn_of_uncommitted(repository, order.terms.plan.clone()));
            }
        }
        launch.begin(start, settings, (&setup.env, Some(&setup)), share).await
    }

    /// Does it with these settings. Whoever is asked has the setup too, for the rules that are allowed for good.
    async fn begin(
        self,
        start: SessionStart,
        settings: SessionSettings,
        (env, setup): (&Env, Option<&Setup>),
        share: Option<ShareFile>,
    ) -> Result<CommandExit, CliError> {
        let FleetLaunch { work, fresh, args, uncommitted_check: mut looking, start: _ } = self;
        let cwd = settings.cwd.clone();
        if let Err(error) = host::limits::raise_open_files() {
            tracing::warn!(%error, "the limit of open files stays as it is");
        }
        let shared = share.as_ref().map(ShareFile::paths).unwrap_or_default();
        let mut session = Session::open(settings.clone(), start).await?;
        current_session::set(session.id());
        for notice in session.notices() {
            print::note(format_args!("{}: {}", notice.path.display(), notice.text));
        }
        let memory = (!fresh).then(|| fleet_memory(settings, &session, &work, shared));
        let mut aids = FleetServices::merged_by(&session);
        if let Some(memory) = &memory {
            aids.result_cache = Arc::clone(memory) as Arc<dyn TodoResultCache>;
        }
        let fleet = match begin(&mut session, start, work, aids).await {
            Ok(fleet) => fleet,
            Err(error) => {
                let id = session.id();
                // What went wrong first is the reason, whatever follows from it.
                let _left = leave(session, start).await;
                return Err(fleet_start_error(error, id));
            }
        };
        // From now on there may be a picture, which a warning would be written into.
        while looking.join_next().await.is_some() {}
        let patience = FleetWaitLimits { park: args.park_wait };
        let (id, home) = (session.id(), session.home().clone());
        let lines = FleetDisplay::new(&session, env, args.output_format, args.quiet)?
            .with_memory(memory)
            .with_prompter(&session, setup.map(|setup| (setup, cwd)));
        let followed = follow(session, fleet, patience, lines, env, &args).await;
        // However it ended: what went wrong is what others should read.
        let written = share.map_or(Ok(()), |share| share.write(&home, id));
        let exit = followed?;
        written.map(|()| exit)
    }
}

async fn begin(
    session: &mut Session,
    start: SessionStart,
    work: FleetLaunchMode,
    aids: FleetServices,
) -> Result<FleetHandle, FleetError> {
    match start {
        SessionStart::Resume(_) => session.resume().await?,
        SessionStart::New | SessionStart::Fork(_) => {}
    }
    match work {
        FleetLaunchMode::Begin(order) => session.start_fleet(order, aids).await,
        FleetLaunchMode::Resume => session.resume_fleet(aids).await,
    }
}

/// What was done before, for a fleet that begins or goes on; changes of what is shared do not count.
fn fleet_memory(
    settings: SessionSettings,
    session: &Session,
    work: &FleetLaunchMode,
    shared: Vec<PathBuf>,
) -> Arc<FleetResultCache> {
    let terms = match work {
        FleetLaunchMode::Begin(order) => Some(order.terms.clone()),
        FleetLaunchMode::Resume => session.fleet_terms().ok().flatten(),
    };
    let (agent, plan, isolated) = terms.map(|terms| (terms.agent, terms.plan, terms.isolated)).unwrap_or_default();
    let usual = agent.unwrap_or_else(|| "general-purpose".into());
    let plan = plan.filter(|plan| !plan.is_empty());
    let apart = [excluded_paths(&settings.home, plan.as_deref().map(Path::new)), shared].concat();
    // What lies in a commit is of no use to workers that share the workspace: nobody merges it.
    let works = if isolated { session.commit_pinner() } else { Arc::new(NoCommits) };
    Arc::new(FleetResultCache::new(settings, usual, apart, works))
}

/// Leaves a session in which no fleet could begin; one that was made for it goes with it.
async fn leave(session: Session, start: SessionStart) -> Result<(), CliError> {
    let (home, id) = (session.home().clone(), session.id());
    session.leave().await?;
    match start {
        SessionStart::New => Ok(sessions::remove(&home, id)?),
        SessionStart::Resume(_) | SessionStart::Fork(_) => Ok(()),
    }
}

fn fleet_start_error(error: FleetError, id: SessionId) -> CliError {
    match error {
        FleetError::Store(error) | FleetError::EditFailed(TodoEditError::Todo(TodoError::Store(error))) => error.into(),
        FleetError::Rejected(rejected @ InputRejection::Paused(_))
        | FleetError::EditFailed(TodoEditError::Rejected(rejected @ InputRejection::Paused(_))) => rejected.into(),
        FleetError::Plan(_) | FleetError::EditFailed(_) => CliError::usage(print::sanitize(&error.to_string())),
        FleetError::NoFleet => {
            CliError::usage(error).with_hint("bosun fleet \"GOAL\" begins one, and so does bosun fleet run PLAN")
        }
        FleetError::Rejected(InputRejection::Refused(refusal)) => {
            CliError::usage(refusal).with_hint(format!("bosun fleet resume {id}"))
        }
        FleetError::Rejected(rejected) => rejected.into(),
    }
}
