//! A fleet begins, or goes on: from what was typed to a session with a fleet in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{Env, Plan};
use host::Home;
use protocol::{FleetEnd, FleetTerms, SessionId};
use runtime::{
    Aids, Fleet, FleetError, FleetMemory, FleetOrder, Memory, NoWorks, Rejected, Session, Settings, Start, Unedited,
    apart,
};
use store::{Reader, TodoError};
use tokio::task::JoinSet;

use super::account::Account;
use super::follow::{Patience, follow};
use super::lines::Lines;
use super::{status, typed};
use crate::args::{FleetIsolation, FleetWorkArgs, RunArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::share::Share;
use crate::{current, print, run, sessions};

/// How often the main agent looks at what came of its own plan.
const ROUNDS: u32 = 3;

/// How often a todo is tried again.
const RETRIES: u32 = 1;

/// Begins a fleet whose main agent plans.
pub(super) async fn goal(goal: Option<String>, work: &FleetWorkArgs, mut args: RunArgs) -> Result<Exit, Failure> {
    let goal = goal.map(|goal| goal.trim().to_owned()).filter(|goal| !goal.is_empty()).ok_or_else(|| {
        Failure::usage("there is nothing to do").hint("bosun fleet \"GOAL\", or bosun fleet run PLAN")
    })?;
    if !goal.contains(char::is_whitespace) {
        return Err(Failure::usage(format!("`{goal}` is neither a command of `bosun fleet` nor a goal in words"))
            .hint("`bosun fleet --help` lists the commands; write a goal as a sentence in quotes"));
    }
    let usual = FleetTerms {
        goal,
        agent: args.agent.take(),
        parallel: None,
        retries: RETRIES,
        rounds: ROUNDS,
        isolated: false,
        dirty: false,
        merge: false,
        check: None,
        plan: None,
    };
    let order = FleetOrder { terms: terms(usual, work)?, todos: Vec::new() };
    Launch { start: Beginning::AsRun, work: Work::Begin(order), fresh: work.fresh, args, looking: JoinSet::new() }
        .go()
        .await
}

/// Begins a fleet that works by a plan file.
pub(super) async fn plan(file: &Path, work: &FleetWorkArgs, args: RunArgs) -> Result<Exit, Failure> {
    planned(file, work, args)?.go().await
}

/// The same in a new session with settings that are there.
pub(crate) async fn run_plan(
    file: &Path,
    work: &FleetWorkArgs,
    args: RunArgs,
    settings: Settings,
    env: &Env,
) -> Result<Exit, Failure> {
    planned(file, work, args)?.begin(Start::New, settings, (env, None), None).await
}

fn planned(file: &Path, work: &FleetWorkArgs, mut args: RunArgs) -> Result<Launch, Failure> {
    let plan = Plan::read(file).map_err(|problems| {
        problems.iter().for_each(|problem| print::note(print::plain(&problem.to_string())));
        let wrong = print::count(problems.len(), "problem");
        Failure::usage(format!("{} has {wrong}", file.display())).hint(format!("bosun fleet check {}", file.display()))
    })?;
    args.max_budget_usd = args.max_budget_usd.or(plan.limits.budget_usd);
    args.timeout = args.timeout.or(plan.limits.timeout);
    // Whoever goes on may do so from another folder.
    let at = plan.file.canonicalize().ok().map(|at| at.display().to_string());
    let usual = plan.terms();
    let usual = FleetTerms { agent: args.agent.take(), plan: at.or(usual.plan.clone()), ..usual };
    let order = FleetOrder { terms: terms(usual, work)?, todos: plan.todos };
    Ok(Launch { start: Beginning::AsRun, work: Work::Begin(order), fresh: work.fresh, args, looking: JoinSet::new() })
}

/// Goes on with a fleet.
pub(super) async fn resume(id: Option<&str>, args: RunArgs) -> Result<Exit, Failure> {
    if args.agent.is_some() {
        return Err(Failure::usage("a fleet that goes on keeps the agents it was begun with").hint("leave --agent out"));
    }
    let home = Setup::read()?.home;
    let session = status::choose(&home, id, args.directory.as_deref())?;
    let account = Account::read(&Reader::open(&home, session)?, session)?;
    if account.is_some_and(|account| account.end == Some(FleetEnd::Done)) {
        print::note(format_args!("the fleet in {session} has done everything"));
        return Ok(Exit::Success);
    }
    let start = Beginning::Resume(session);
    Launch { start, work: Work::Resume, fresh: false, args, looking: JoinSet::new() }.go().await
}

/// What was typed goes before what the plan says, and that before what is usual.
fn terms(usual: FleetTerms, work: &FleetWorkArgs) -> Result<FleetTerms, Failure> {
    let terms = FleetTerms {
        parallel: work.parallel.or(usual.parallel),
        retries: work.retries.unwrap_or(usual.retries),
        rounds: work.rounds.unwrap_or(usual.rounds),
        isolated: work.isolation.map_or(usual.isolated, |isolation| isolation == FleetIsolation::Worktree),
        dirty: work.include_dirty || usual.dirty,
        merge: work.merge || usual.merge,
        check: work.check.clone().or(usual.check),
        ..usual
    };
    typed::expect_isolated(work, &terms)?;
    Ok(terms)
}

/// Which session the fleet works in.
enum Beginning {
    /// The one that a run with the same flags would have.
    AsRun,
    /// One that has a fleet.
    Resume(SessionId),
}

impl Beginning {
    fn start(&self, args: &RunArgs, home: &Home) -> Result<Start, Failure> {
        match self {
            Beginning::AsRun => run::start(args, home),
            Beginning::Resume(id) => Ok(Start::Resume(*id)),
        }
    }
}

/// What the fleet does.
enum Work {
    Begin(FleetOrder),
    Resume,
}

/// Everything that was typed.
struct Launch {
    start: Beginning,
    work: Work,
    fresh: bool,
    args: RunArgs,
    /// The look for files that are not committed. In a large repository it takes a while, in which the workers begin.
    looking: JoinSet<()>,
}

impl Launch {
    /// Does it with the user's settings.
    async fn go(self) -> Result<Exit, Failure> {
        typed::expect_fit(&self.args)?;
        let mut setup = Setup::read()?;
        let share = self.args.mode.share.as_deref().map(Share::at).transpose()?;
        let start = self.start.start(&self.args, &setup.home)?;
        let before = match start {
            Start::New => None,
            Start::Resume(id) | Start::Fork(id) => Some(Reader::open(&setup.home, id)?.session_view()?),
        };
        let folder = self.args.directory.as_deref().or(before.as_ref().map(|before| Path::new(&before.cwd)));
        setup.ask_catalog(folder).await;
        let settings = setup.settings(&self.args, before.as_ref())?;
        let mut launch = self;
        if let Work::Begin(order) = &launch.work {
            let repository = typed::expect_repository(&setup, &settings.cwd, &order.terms).await?;
            if let Some(repository) = repository.filter(|_| !order.terms.dirty) {
                launch.looking.spawn(typed::warn_of_uncommitted(repository, order.terms.plan.clone()));
            }
        }
        launch.begin(start, settings, (&setup.env, Some(&setup)), share).await
    }

    /// Does it with these settings. Whoever is asked has the setup too, for the rules that are allowed for good.
    async fn begin(
        self,
        start: Start,
        settings: Settings,
        (env, setup): (&Env, Option<&Setup>),
        share: Option<Share>,
    ) -> Result<Exit, Failure> {
        let Launch { work, fresh, args, mut looking, start: _ } = self;
        let cwd = settings.cwd.clone();
        if let Err(error) = host::limits::raise_open_files() {
            tracing::warn!(%error, "the limit of open files stays as it is");
        }
        let shared = share.as_ref().map(Share::paths).unwrap_or_default();
        let mut session = Session::open(settings.clone(), start).await?;
        current::set(session.id());
        for notice in session.notices() {
            print::note(format_args!("{}: {}", notice.path.display(), notice.text));
        }
        let memory = (!fresh).then(|| memory(settings, &session, &work, shared));
        let mut aids = Aids::merged_by(&session);
        if let Some(memory) = &memory {
            aids.memory = Arc::clone(memory) as Arc<dyn Memory>;
        }
        let fleet = match begin(&mut session, start, work, aids).await {
            Ok(fleet) => fleet,
            Err(error) => {
                let id = session.id();
                // What went wrong first is the reason, whatever follows from it.
                let _left = leave(session, start).await;
                return Err(refused(error, id));
            }
        };
        // From now on there may be a picture, which a warning would be written into.
        while looking.join_next().await.is_some() {}
        let patience = Patience { park: args.park_wait };
        let (id, home) = (session.id(), session.home().clone());
        let lines = Lines::new(&session, env, args.output_format, args.quiet)?
            .remembering(memory)
            .asking(&session, setup.map(|setup| (setup, cwd)));
        let followed = follow(session, fleet, patience, lines, env, &args).await;
        // However it ended: what went wrong is what others should read.
        let written = share.map_or(Ok(()), |share| share.write(&home, id));
        let exit = followed?;
        written.map(|()| exit)
    }
}

async fn begin(session: &mut Session, start: Start, work: Work, aids: Aids) -> Result<Fleet, FleetError> {
    match start {
        Start::Resume(_) => session.resume().await?,
        Start::New | Start::Fork(_) => {}
    }
    match work {
        Work::Begin(order) => session.start_fleet(order, aids).await,
        Work::Resume => session.resume_fleet(aids).await,
    }
}

/// What was done before, for a fleet that begins or goes on; changes of what is shared do not count.
fn memory(settings: Settings, session: &Session, work: &Work, shared: Vec<PathBuf>) -> Arc<FleetMemory> {
    let terms = match work {
        Work::Begin(order) => Some(order.terms.clone()),
        Work::Resume => session.fleet_terms().ok().flatten(),
    };
    let (agent, plan, isolated) = terms.map(|terms| (terms.agent, terms.plan, terms.isolated)).unwrap_or_default();
    let usual = agent.unwrap_or_else(|| "general-purpose".into());
    let plan = plan.filter(|plan| !plan.is_empty());
    let apart = [apart(&settings.home, plan.as_deref().map(Path::new)), shared].concat();
    // What lies in a commit is of no use to workers that share the workspace: nobody merges it.
    let works = if isolated { session.works() } else { Arc::new(NoWorks) };
    Arc::new(FleetMemory::new(settings, usual, apart, works))
}

/// Leaves a session in which no fleet could begin; one that was made for it goes with it.
async fn leave(session: Session, start: Start) -> Result<(), Failure> {
    let (home, id) = (session.home().clone(), session.id());
    session.leave().await?;
    match start {
        Start::New => Ok(sessions::remove(&home, id)?),
        Start::Resume(_) | Start::Fork(_) => Ok(()),
    }
}

fn refused(error: FleetError, id: SessionId) -> Failure {
    match error {
        FleetError::Store(error) | FleetError::Unedited(Unedited::Todo(TodoError::Store(error))) => error.into(),
        FleetError::Rejected(rejected @ Rejected::Paused(_))
        | FleetError::Unedited(Unedited::Rejected(rejected @ Rejected::Paused(_))) => rejected.into(),
        FleetError::Plan(_) | FleetError::Unedited(_) => Failure::usage(print::plain(&error.to_string())),
        FleetError::None => {
            Failure::usage(error).hint("bosun fleet \"GOAL\" begins one, and so does bosun fleet run PLAN")
        }
        FleetError::Rejected(Rejected::Refused(refusal)) => {
            Failure::usage(refusal).hint(format!("bosun fleet resume {id}"))
        }
        FleetError::Rejected(rejected) => rejected.into(),
    }
}
