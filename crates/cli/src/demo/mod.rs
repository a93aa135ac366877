//! `bosun demo`: a fleet of scripted agents repairs a small sample with real tools, each in its own checkout, and their
//! work is merged. It uses the same code as `bosun fleet run`.
//!
//! All its files, including the session, are in one folder that is kept; no file of the user is touched. It succeeds
//! only if the sample's tests pass at the end, run once more without the agents.

mod folder;
mod history;
mod introduction;
mod pace;
mod runner;
mod summary;

use crate::args::DemoArgs;
use crate::error::CliError;
use crate::exit::CommandExit;

use folder::DemoFolder;
use runner::DemoRunner;

pub(crate) async fn run(args: &DemoArgs) -> Result<CommandExit, CliError> {
    let folder = DemoFolder::make(args.dir.as_deref())?;
    let runner = DemoRunner::prepare(&folder, pace::pace_for(args)).await?;
    introduction::print_introduction(&folder, &runner);
    let run = runner.run_fleet().await?;
    let tests = runner.run_tests().await?;
    summary::print_summary(&folder, &runner, run, &tests).await?;
    Ok(CommandExit::worst([run, tests.exit()]))
}
