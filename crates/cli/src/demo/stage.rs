//! Runs the demo: a fleet like any other, in the sample's folder, with a home of its own.

use std::ffi::OsString;

use clap::Parser;
use config::Env;
use git::Git;
use host::{ExitStatus, Guardian, Program};
use runtime::Settings;

use super::folder::Folder;
use super::history::History;
use super::pace::Pace;
use crate::args::{Args, Command, FleetArgs, FleetCommand, FleetWorkArgs, RunArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::fleet;
use crate::setup::Setup;

/// How the plan and the model are named from the project's folder.
pub(super) const PLAN: &str = "../plan.yaml";
pub(super) const MODEL: &str = "script/../fix.yaml";

/// Everything is in place for the run.
#[derive(Debug)]
pub(super) struct Stage {
    env: Env,
    settings: Settings,
    work: FleetWorkArgs,
    args: RunArgs,
    /// The sample's history, or why there is none.
    pub(super) history: Result<History, String>,
}

impl Stage {
    /// Wires the run as the command line would.
    pub(super) async fn set(folder: &Folder, pace: Pace) -> Result<Stage, Failure> {
        let setup = Setup::at(Env::read(), folder.home())?;
        let (_, args) = typed(folder, &[])?;
        let mut settings = setup.settings(&args, None)?;
        settings.model = pace.apply(settings.model);
        let guardian = Guardian::new(settings.guardian.clone());
        let history = History::begin(Git::new(guardian, &settings.cwd, &settings.env)).await;
        let isolation: &[&str] = if history.is_ok() { &["--merge"] } else { &["--isolation", "none"] };
        let (work, args) = typed(folder, isolation)?;
        Ok(Stage { env: setup.env, settings, work, args, history })
    }

    /// Runs the fleet, which is shown as it works, and tells how it ended.
    pub(super) async fn play(&self) -> Result<Exit, Failure> {
        let plan = self.settings.cwd.join(PLAN);
        fleet::run_plan(&plan, &self.work, self.args.clone(), self.settings.clone(), &self.env).await
    }

    /// Runs the sample's tests without the agents.
    pub(super) async fn prove(&self) -> Result<Proof, Failure> {
        let mut program = Program::new("/bin/sh", &self.settings.cwd).args(["tests/run.sh"]);
        program.env.clone_from(&self.settings.env);
        let guardian = Guardian::new(self.settings.guardian.clone());
        let mut process = guardian.spawn(program).await.map_err(Failure::failed)?;
        let mut output = Vec::new();
        let ended = tools::follow(&mut process, |bytes| output.extend_from_slice(bytes)).await;
        let status = ended.map_err(Failure::failed)?.status;
        let verdict = String::from_utf8_lossy(&output).lines().last().unwrap_or_default().to_owned();
        Ok(Proof { status, verdict })
    }
}

/// The fleet as somebody would type it.
fn typed(folder: &Folder, isolation: &[&str]) -> Result<(FleetWorkArgs, RunArgs), Failure> {
    let words: [OsString; 11] = [
        "bosun".into(),
        "fleet".into(),
        "run".into(),
        PLAN.into(),
        "-C".into(),
        folder.project().into(),
        "--model".into(),
        MODEL.into(),
        "--allow-all".into(),
        // Rules of the user's own could keep the sample from being repaired.
        "--setting-sources".into(),
        "local".into(),
    ];
    let words = words.into_iter().chain(isolation.iter().map(OsString::from));
    let args = Args::try_parse_from(words).map_err(Failure::failed)?;
    match args.command {
        Some(Command::Fleet(FleetArgs { command: Some(FleetCommand::Run { work, run, .. }), .. })) => Ok((work, *run)),
        _other => Err(Failure::failed("the demo cannot be typed")),
    }
}

/// How the sample's tests ended.
#[derive(Debug)]
pub(super) struct Proof {
    status: ExitStatus,
    /// The last line they printed.
    pub(super) verdict: String,
}

impl Proof {
    /// The demo succeeds only if they pass.
    pub(super) fn exit(&self) -> Exit {
        if self.status.is_success() { Exit::Success } else { Exit::Failed }
    }
}
