//! Runs the demo: an ordinary fleet in the sample's folder, with its own home.

use std::ffi::OsString;

use clap::Parser;
use config::Env;
use git::Git;
use host::{ExitStatus, Guardian, Program};
use runtime::SessionSettings;

use super::folder::DemoFolder;
use super::history::SampleHistory;
use super::pace::DemoPace;
use crate::args::{CliArgs, CliCommand, Deferred, FleetArgs, FleetCommand, FleetWorkArgs, RunArgs};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::fleet;
use crate::setup::Setup;

/// The plan and the model, relative to the project's folder.
pub(super) const PLAN: &str = "../plan.yaml";
pub(super) const MODEL: &str = "script/../fix.yaml";

/// A demo that is ready to run.
#[derive(Debug)]
pub(super) struct DemoRunner {
    env: Env,
    settings: SessionSettings,
    work: FleetWorkArgs,
    args: RunArgs,
    /// The sample's git history, or why there is none.
    pub(super) git_history: Result<SampleHistory, String>,
}

impl DemoRunner {
    /// Sets up the run as the command line would.
    pub(super) async fn prepare(folder: &DemoFolder, pace: DemoPace) -> Result<DemoRunner, CliError> {
        let setup = Setup::with_home_at(Env::read(), folder.home())?;
        let (_, args) = parse_fleet_args(folder, &[])?;
        let mut settings = setup.settings(&args, None)?;
        settings.model = pace.apply(settings.model);
        let guardian = Guardian::new(settings.guardian.clone());
        let history = SampleHistory::begin(Git::new(guardian, &settings.cwd, &settings.env)).await;
        let isolation: &[&str] = if history.is_ok() { &["--merge"] } else { &["--isolation", "none"] };
        let (work, args) = parse_fleet_args(folder, isolation)?;
        Ok(DemoRunner { env: setup.env, settings, work, args, git_history: history })
    }

    /// Runs the fleet with live progress, and returns how it ended.
    pub(super) async fn run_fleet(&self) -> Result<CommandExit, CliError> {
        let plan = self.settings.cwd.join(PLAN);
        fleet::run_plan(&plan, &self.work, self.args.clone(), self.settings.clone(), &self.env).await
    }

    /// Runs the sample's tests without the agents.
    pub(super) async fn run_tests(&self) -> Result<SampleTestResult, CliError> {
        let mut program = Program::new("/bin/sh", &self.settings.cwd).args(["tests/run.sh"]);
        program.env.clone_from(&self.settings.env);
        let guardian = Guardian::new(self.settings.guardian.clone());
        let mut process = guardian.spawn(program).await.map_err(CliError::failed)?;
        let mut output = Vec::new();
        let ended = tools::follow(&mut process, |bytes| output.extend_from_slice(bytes)).await;
        let status = ended.map_err(CliError::failed)?.status;
        let last_line = String::from_utf8_lossy(&output).lines().last().unwrap_or_default().to_owned();
        Ok(SampleTestResult { status, last_line })
    }
}

/// Parses the command line that a user would type for the fleet.
fn parse_fleet_args(folder: &DemoFolder, isolation: &[&str]) -> Result<(FleetWorkArgs, RunArgs), CliError> {
    let args: [OsString; 11] = [
        "bosun".into(),
        "fleet".into(),
        "run".into(),
        PLAN.into(),
        "-C".into(),
        folder.project().into(),
        "--model".into(),
        MODEL.into(),
        "--allow-all".into(),
        // Rules of the user could prevent the repair of the sample.
        "--setting-sources".into(),
        "local".into(),
    ];
    let args = args.into_iter().chain(isolation.iter().map(OsString::from));
    let args = CliArgs::try_parse_from(args).map_err(CliError::failed)?;
    match args.command {
        Some(CliCommand::Fleet(Deferred(FleetArgs { command: Some(FleetCommand::Run { work, run, .. }), .. }))) => {
            Ok((work, *run))
        }
        _other => Err(CliError::failed("the command line of the demo is not a fleet run")),
    }
}

/// How the sample's tests ended.
#[derive(Debug)]
pub(super) struct SampleTestResult {
    status: ExitStatus,
    /// The last line they printed.
    pub(super) last_line: String,
}

impl SampleTestResult {
    /// The demo succeeds only if they pass.
    pub(super) fn exit(&self) -> CommandExit {
        if self.status.is_success() { CommandExit::Success } else { CommandExit::Failed }
    }
}
