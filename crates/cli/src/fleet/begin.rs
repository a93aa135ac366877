//! Starts and resumes fleets: from command-line arguments to a session with a running fleet.

use std::path::{Path, PathBuf};

use client::SessionHandle;
use config::{Env, FleetPlan, PrepareFleetError, PreparedFleet, SessionRequest};
use host::Home;
use protocol::api::{BeginFleetParams, FleetParams, FleetResult, PlanDocument, ResumeFleetParams, calls};
use protocol::{Hinted as _, SessionId, SessionOptions};
use runtime::{SessionSettings, SessionStart};
use tui::chat::{CallFailure, call_session};
use tui::print;

use super::display::FleetDisplay;
use super::follow::{FleetWaitLimits, follow};
use super::{status, validate};
use crate::args::{FleetIsolation, FleetWorkArgs, RunArgs};
use crate::current_session::SessionUse;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::foreground_session::ForegroundSession;
use crate::setup::{self, Setup};
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
    let fleet = FleetParams { agent: args.agent.take(), ..fleet_params(work, Some(goal)) };
    prepare(BeginFleetParams { session: args.session_options(), fleet, plan: None }, args)?.launch().await
}

/// Starts a fleet from a plan file.
pub(super) async fn start_from_plan(file: &Path, work: &FleetWorkArgs, args: RunArgs) -> Result<CommandExit, CliError> {
    prepare_from_plan(file, work, args)?.launch().await
}

/// Starts a fleet from a plan file in a new session with the given settings.
pub(crate) async fn run_plan(
    file: &Path,
    work: &FleetWorkArgs,
    args: RunArgs,
    settings: SessionSettings,
    env: &Env,
) -> Result<CommandExit, CliError> {
    prepare_from_plan(file, work, args)?.begin(SessionStart::New, settings, (env, None), None).await
}

fn prepare_from_plan(file: &Path, work: &FleetWorkArgs, mut args: RunArgs) -> Result<FleetLaunch, CliError> {
    let text = FleetPlan::read_text(file).map_err(|problem| CliError::usage(print::sanitize(&problem.to_string())))?;
    let plan = PlanDocument { text: Some(text), file: Some(file.display().to_string()), object: None };
    let fleet = FleetParams { agent: args.agent.take(), ..fleet_params(work, None) };
    prepare(BeginFleetParams { session: args.session_options(), fleet, plan: Some(plan) }, args)
}

/// Prepares the fleet in the same way as for a client of the API.
fn prepare(params: BeginFleetParams, args: RunArgs) -> Result<FleetLaunch, CliError> {
    validate::reject_prompt_flags(&args)?;
    let PreparedFleet { session, fleet } = config::prepare_fleet(params).map_err(preparation_error)?;
    Ok(FleetLaunch {
        session_choice: FleetSessionChoice::FromFlags,
        mode: FleetLaunchMode::Begin(Box::new(fleet)),
        options: session,
        args,
    })
}

fn preparation_error(error: PrepareFleetError) -> CliError {
    let hint = error.hint();
    let error = match error {
        PrepareFleetError::Plan { file, problems } => {
            problems.iter().for_each(|problem| print::note(print::sanitize(&problem.to_string())));
            let count = print::pluralize(problems.len(), "problem");
            CliError::usage(print::sanitize(&format!("{} has {count}", file.display())))
        }
        PrepareFleetError::SharedFolder { option } => return validate::shared_folder_error(option),
        error @ (PrepareFleetError::PlanForm
        | PrepareFleetError::TwoPlans
        | PrepareFleetError::SessionOption { .. }
        | PrepareFleetError::NoGoal) => CliError::usage(error),
    };
    hint.into_iter().fold(error, CliError::with_hint)
}

/// Resumes a fleet.
pub(super) async fn resume(id: Option<&str>, args: RunArgs) -> Result<CommandExit, CliError> {
    if args.agent.is_some() {
        return Err(
            CliError::usage("a resumed fleet keeps the agents it was started with").with_hint("leave --agent out")
        );
    }
    validate::reject_prompt_flags(&args)?;
    let home = Setup::read()?.home;
    let session = status::choose_session(&home, id, args.directory.as_deref())?;
    if status::read_progress(&SessionHandle::new(&home, session)).await?.is_some_and(|fleet| fleet.is_done()) {
        print::note(format_args!("the fleet in {session} has finished all todos"));
        return Ok(CommandExit::Success);
    }
    let session_choice = FleetSessionChoice::Resume(session);
    FleetLaunch { session_choice, mode: FleetLaunchMode::Resume, options: args.session_options(), args }.launch().await
}

/// The request that the flags make.
fn fleet_params(work: &FleetWorkArgs, prompt: Option<String>) -> FleetParams {
    FleetParams {
        prompt,
        parallel: work.parallel,
        retries: work.retries,
        rounds: work.rounds,
        isolated: work.isolation.map(|isolation| isolation == FleetIsolation::Worktree),
        dirty: work.include_dirty,
        merge: work.merge,
        check: work.check.clone(),
        fresh: work.fresh,
        ..FleetParams::default()
    }
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
    Begin(Box<FleetParams>),
    Resume,
}

/// The parsed arguments of a fleet command.
struct FleetLaunch {
    session_choice: FleetSessionChoice,
    mode: FleetLaunchMode,
    /// The options of the session.
    options: SessionOptions,
    args: RunArgs,
}

impl FleetLaunch {
    /// Starts or resumes the fleet with the user's settings.
    async fn launch(self) -> Result<CommandExit, CliError> {
        let mut setup = Setup::read()?;
        if self.args.detach {
            return self.detach(&setup).await;
        }
        let share = self.args.mode.share.as_deref().map(ShareFile::create).transpose()?;
        let start = self.session_choice.session_start(&self.args, &setup.home)?;
        let previous = match start {
            SessionStart::New => None,
            SessionStart::Resume(id) | SessionStart::Fork(id) => Some(SessionHandle::new(&setup.home, id).view()?),
        };
        let folder = self.args.directory.as_deref().or(previous.as_ref().map(|previous| Path::new(&previous.cwd)));
        setup.fetch_remote_catalog(folder).await;
        let request = SessionRequest::new(&self.options, previous.as_ref());
        let settings = setup.assemble(request, setup::hidden_notices(&self.args))?;
        self.begin(start, settings, (&setup.env, Some(&setup)), share).await
    }

    /// Starts the fleet in the session host.
    async fn detach(self, setup: &Setup) -> Result<CommandExit, CliError> {
        let FleetLaunch { session_choice, mode, options, args } = self;
        match (session_choice.session_start(&args, &setup.home)?, mode) {
            (SessionStart::New, FleetLaunchMode::Begin(fleet)) => {
                run::run_detached_fleet(setup, &args, PreparedFleet { session: options, fleet: *fleet }).await
            }
            (SessionStart::New | SessionStart::Resume(_) | SessionStart::Fork(_), _) => {
                Err(CliError::usage("--detach begins a new fleet, in a new session").with_hint("leave it out"))
            }
        }
    }

    /// Starts or resumes the fleet with these settings. The prompter needs the setup to save permanent allow rules.
    async fn begin(
        self,
        start: SessionStart,
        settings: SessionSettings,
        (env, setup): (&Env, Option<&Setup>),
        share: Option<ShareFile>,
    ) -> Result<CommandExit, CliError> {
        let FleetLaunch { mode, args, options: _, session_choice: _ } = self;
        let cwd = settings.cwd.clone();
        if let Err(error) = host::limits::raise_open_files() {
            tracing::warn!(%error, "cannot raise the limit of open files");
        }
        let excluded = share.as_ref().map(ShareFile::paths).unwrap_or_default();
        let session = ForegroundSession::open(settings, start, SessionUse::Fleet).await?;
        for notice in session.notices() {
            print::note(format_args!("{}: {}", notice.path.display(), notice.text));
        }
        if let Err(error) = begin(&session, start, mode, excluded).await {
            // The first error is the reason; errors while leaving follow from it.
            let _left = leave_unused(session, start).await;
            return Err(error);
        }
        // In a large repository this is slow, so the workers start meanwhile. A later warning would corrupt the live view.
        validate::warn_of_uncommitted(session.handle()).await;
        let limits = FleetWaitLimits { park: args.park_wait };
        let (id, home) = (session.id(), session.handle().home().clone());
        let display = FleetDisplay::new(&session, env, args.output_format, args.quiet)?
            .with_prompter(&session, setup.map(|setup| (setup, cwd)));
        let result = follow(session, limits, display, env, &args).await;
        // Write the shared file on failure too: it shows what went wrong.
        let written = share.map_or(Ok(()), |share| share.write(&home, id));
        let exit = result?;
        written.map(|()| exit)
    }
}

async fn begin(
    session: &ForegroundSession,
    start: SessionStart,
    mode: FleetLaunchMode,
    excluded: Vec<PathBuf>,
) -> Result<FleetResult, CliError> {
    match start {
        SessionStart::Resume(_) => session.resume().await?,
        SessionStart::New | SessionStart::Fork(_) => {}
    }
    let begun = match mode {
        FleetLaunchMode::Begin(fleet) => {
            let fleet = FleetParams { excluded, ..*fleet };
            call_session::<calls::SessionFleetStart>(session.handle(), &fleet).await
        }
        FleetLaunchMode::Resume => {
            call_session::<calls::SessionFleetResume>(session.handle(), &ResumeFleetParams { excluded }).await
        }
    };
    begun.map_err(|failure| match failure {
        CallFailure::Refused(refusal) => refusal.into(),
        failure @ CallFailure::Fatal(_) => failure.into(),
    })
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
