//! Starts and resumes fleets: from command-line arguments to a session with a running fleet.

use std::path::{Path, PathBuf};

use client::{SessionHandle, TodoError};
use config::{Env, FleetPlan};
use host::Home;
use protocol::{FleetConfig, FleetEnd, SessionId};
use runtime::{
    FleetError, FleetHandle, FleetRequest, InputRejection, ResultReuse, SessionSettings, SessionStart, TodoEditError,
};
use tokio::task::JoinSet;
use tui::print;

use super::display::FleetDisplay;
use super::follow::{FleetWaitLimits, follow};
use super::progress::FleetProgress;
use super::{status, validate};
use crate::args::{FleetIsolation, FleetWorkArgs, RunArgs};
use crate::current_session::SessionUse;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::foreground_session::ForegroundSession;
use crate::setup::Setup;
use crate::share::ShareFile;
use crate::{run, suggestions};

/// Starts a fleet whose main agent writes the plan.
pub(super) async fn start_from_goal(
    goal: Option<String>,
    work: &FleetWorkArgs,
    mut args: RunArgs,
) -> Result<CommandExit, CliError> {
    let goal = goal
        .map(|goal| goal.trim().to_owned())
        .filter(|goal| !goal.is_empty())
        .ok_or_else(|| CliError::usage("no goal given").with_hint("bosun fleet \"GOAL\", or bosun fleet run PLAN"))?;
    if !goal.contains(char::is_whitespace) {
        let hint = match suggestions::suggest_fleet_command(&goal) {
            Some(command) => format!("did you mean `bosun fleet {command}`? a goal is a sentence in quotes"),
            None => "`bosun fleet --help` lists the commands; write a goal as a sentence in quotes".into(),
        };
        let problem = format!("`{goal}` is neither a `bosun fleet` command nor a goal of several words");
        return Err(CliError::usage(problem).with_hint(hint));
    }
    let defaults = FleetConfig { agent: args.agent.take(), ..FleetConfig::for_goal(goal) };
    FleetLaunch {
        session_choice: FleetSessionChoice::FromFlags,
        mode: FleetLaunchMode::Begin(fleet_request(defaults, work)?),
        args,
        uncommitted_check: JoinSet::new(),
    }
    .launch()
    .await
}

/// Starts a fleet from a plan file.
pub(super) async fn start_from_plan(file: &Path, work: &FleetWorkArgs, args: RunArgs) -> Result<CommandExit, CliError> {
    prepare_plan_launch(file, work, args)?.launch().await
}

/// Starts a fleet from a plan file in a new session with the given settings.
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
        if let [problem] = &problems[..]
            && !file.exists()
        {
            return CliError::usage(print::sanitize(&problem.to_string()));
        }
        problems.iter().for_each(|problem| print::note(print::sanitize(&problem.to_string())));
        let count = print::pluralize(problems.len(), "problem");
        CliError::usage(format!("{} has {count}", file.display()))
            .with_hint(format!("bosun fleet check {}", file.display()))
    })?;
    args.max_budget_usd = args.max_budget_usd.or(plan.limits.budget_usd);
    args.timeout = args.timeout.or(plan.limits.timeout);
    // The fleet may be resumed from another folder.
    let path = plan.file.canonicalize().ok().map(|path| path.display().to_string());
    let defaults = plan.fleet_config();
    let defaults = FleetConfig { agent: args.agent.take(), plan: path.or(defaults.plan.clone()), ..defaults };
    let request = FleetRequest { todos: plan.todos, ..fleet_request(defaults, work)? };
    Ok(FleetLaunch {
        session_choice: FleetSessionChoice::FromFlags,
        mode: FleetLaunchMode::Begin(request),
        args,
        uncommitted_check: JoinSet::new(),
    })
}

/// Resumes a fleet.
pub(super) async fn resume(id: Option<&str>, args: RunArgs) -> Result<CommandExit, CliError> {
    if args.agent.is_some() {
        return Err(
            CliError::usage("a resumed fleet keeps the agents it was started with").with_hint("leave --agent out")
        );
    }
    let home = Setup::read()?.home;
    let session = status::choose_session(&home, id, args.directory.as_deref())?;
    let progress = SessionHandle::new(&home, session).stored()?.fleet_status()?.map(FleetProgress::from);
    if progress.is_some_and(|progress| progress.end == Some(FleetEnd::Done)) {
        print::note(format_args!("the fleet in {session} has finished all todos"));
        return Ok(CommandExit::Success);
    }
    let start = FleetSessionChoice::Resume(session);
    FleetLaunch { session_choice: start, mode: FleetLaunchMode::Resume, args, uncommitted_check: JoinSet::new() }
        .launch()
        .await
}

/// The request with the flags merged over the plan's values or the defaults.
fn fleet_request(defaults: FleetConfig, work: &FleetWorkArgs) -> Result<FleetRequest, CliError> {
    let terms = FleetConfig {
        parallel: work.parallel.or(defaults.parallel),
        retries: work.retries.unwrap_or(defaults.retries),
        rounds: work.rounds.unwrap_or(defaults.rounds),
        isolated: work.isolation.map_or(defaults.isolated, |isolation| isolation == FleetIsolation::Worktree),
        dirty: work.include_dirty || defaults.dirty,
        merge: work.merge || defaults.merge,
        check: work.check.clone().or(defaults.check),
        ..defaults
    };
    validate::reject_merge_flags(work, &terms)?;
    let reuse = if work.fresh { ResultReuse::DoAll } else { ResultReuse::Reuse };
    Ok(FleetRequest { reuse, ..FleetRequest::new(terms) })
}

/// The session that the fleet works in.
enum FleetSessionChoice {
    /// The session that `bosun -p` would use with the same flags.
    FromFlags,
    /// A session that already has a fleet.
    Resume(SessionId),
}

impl FleetSessionChoice {
    fn session_start(&self, args: &RunArgs, home: &Home) -> Result<SessionStart, CliError> {
        match self {
            FleetSessionChoice::FromFlags => run::session_start(args, home),
            FleetSessionChoice::Resume(id) => Ok(SessionStart::Resume(*id)),
        }
    }
}

/// Whether the fleet is new or resumed.
enum FleetLaunchMode {
    Begin(FleetRequest),
    Resume,
}

/// The parsed arguments of a fleet command.
struct FleetLaunch {
    session_choice: FleetSessionChoice,
    mode: FleetLaunchMode,
    args: RunArgs,
    /// The check for uncommitted files. In a large repository it is slow, so the workers start meanwhile.
    uncommitted_check: JoinSet<()>,
}

impl FleetLaunch {
    /// Starts or resumes the fleet with the user's settings.
    async fn launch(self) -> Result<CommandExit, CliError> {
        validate::reject_prompt_flags(&self.args)?;
        let mut setup = Setup::read()?;
        let share = self.args.mode.share.as_deref().map(ShareFile::create).transpose()?;
        let start = self.session_choice.session_start(&self.args, &setup.home)?;
        let previous = match start {
            SessionStart::New => None,
            SessionStart::Resume(id) | SessionStart::Fork(id) => {
                Some(SessionHandle::new(&setup.home, id).stored()?.view()?)
            }
        };
        let folder = self.args.directory.as_deref().or(previous.as_ref().map(|previous| Path::new(&previous.cwd)));
        setup.fetch_remote_catalog(folder).await;
        let settings = setup.settings(&self.args, previous.as_ref())?;
        let mut launch = self;
        if let FleetLaunchMode::Begin(request) = &launch.mode {
            let repository = validate::require_repository(&setup, &settings.cwd, &request.config).await?;
            if let Some(repository) = repository.filter(|_| !request.config.dirty) {
                launch.uncommitted_check.spawn(validate::warn_of_uncommitted(repository, request.config.plan.clone()));
            }
        }
        launch.begin(start, settings, (&setup.env, Some(&setup)), share).await
    }

    /// Starts or resumes the fleet with these settings. The prompter needs the setup to save permanent allow rules.
    async fn begin(
        self,
        start: SessionStart,
        settings: SessionSettings,
        (env, setup): (&Env, Option<&Setup>),
        share: Option<ShareFile>,
    ) -> Result<CommandExit, CliError> {
        let FleetLaunch { mode: work, args, mut uncommitted_check, session_choice: _ } = self;
        let cwd = settings.cwd.clone();
        if let Err(error) = host::limits::raise_open_files() {
            tracing::warn!(%error, "cannot raise the limit of open files");
        }
        let excluded = share.as_ref().map(ShareFile::paths).unwrap_or_default();
        let session = ForegroundSession::open(settings, start, SessionUse::Fleet).await?;
        for notice in session.notices() {
            print::note(format_args!("{}: {}", notice.path.display(), notice.text));
        }
        let fleet = match begin(&session, start, work, excluded).await {
            Ok(fleet) => fleet,
            Err(error) => {
                let id = session.id();
                // The first error is the reason; errors while leaving follow from it.
                let _left = leave_unused(session, start).await;
                return Err(fleet_start_error(error, id));
            }
        };
        // A warning printed later would corrupt the live view.
        while uncommitted_check.join_next().await.is_some() {}
        let limits = FleetWaitLimits { park: args.park_wait };
        let (id, home) = (session.id(), session.handle().home().clone());
        let display = FleetDisplay::new(&session, env, args.output_format, args.quiet)?
            .with_fleet(fleet.clone())
            .with_prompter(&session, setup.map(|setup| (setup, cwd)));
        let result = follow(session, fleet, limits, display, env, &args).await;
        // Write the shared file on failure too: it shows what went wrong.
        let written = share.map_or(Ok(()), |share| share.write(&home, id));
        let exit = result?;
        written.map(|()| exit)
    }
}

async fn begin(
    session: &ForegroundSession,
    start: SessionStart,
    work: FleetLaunchMode,
    excluded: Vec<PathBuf>,
) -> Result<FleetHandle, FleetError> {
    match start {
        SessionStart::Resume(_) => session.resume().await?,
        SessionStart::New | SessionStart::Fork(_) => {}
    }
    match work {
        FleetLaunchMode::Begin(request) => session.start_fleet(FleetRequest { excluded, ..request }).await,
        FleetLaunchMode::Resume => session.resume_fleet(excluded).await,
    }
}

/// Leaves a session in which no fleet could start, and removes it if it was created for the fleet.
async fn leave_unused(session: ForegroundSession, start: SessionStart) -> Result<(), CliError> {
    let (home, id) = (session.handle().home().clone(), session.id());
    session.leave().await?;
    match start {
        SessionStart::New => Ok(client::sessions::remove(&home, id)?),
        SessionStart::Resume(_) | SessionStart::Fork(_) => Ok(()),
    }
}

fn fleet_start_error(error: FleetError, id: SessionId) -> CliError {
    match error {
        FleetError::Store(error) | FleetError::EditFailed(TodoEditError::Todo(TodoError::Store(error))) => error.into(),
        FleetError::Rejected(rejected @ InputRejection::Paused(_))
        | FleetError::EditFailed(TodoEditError::Rejected(rejected @ InputRejection::Paused(_))) => rejected.into(),
        FleetError::NoRunner
        | FleetError::Plan(_)
        | FleetError::EditFailed(_)
        | FleetError::AtWork(_)
        | FleetError::Unfinished(_)
        | FleetError::SharedFolder
        | FleetError::Repository(_) => CliError::usage(print::sanitize(&error.to_string())),
        FleetError::NoFleet => {
            CliError::usage(error).with_hint("bosun fleet \"GOAL\" or bosun fleet run PLAN starts one")
        }
        FleetError::Rejected(InputRejection::Refused(refusal)) => {
            CliError::usage(refusal).with_hint(format!("bosun fleet resume {id}"))
        }
        FleetError::Rejected(rejected) => rejected.into(),
    }
}
