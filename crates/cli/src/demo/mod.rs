//! `bosun demo`: a fleet of scripted agents repairs a small sample with real tools, each in a checkout of its own, and
//! their work is merged. It is run by the same code as `bosun fleet run`.
//!
//! Everything it makes, its session included, is in one folder that stays, and nothing of the user's is touched.
//! It succeeds only if the sample's tests pass at the end, run once more without the agents.

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
    let stage = DemoRunner::prepare(&folder, pace::pace_for(args)).await?;
    introduction::print_introduction(&folder, &stage);
    let run = stage.run_fleet().await?;
    let proof = stage.run_tests().await?;
    summary::print_summary(&folder, &stage, run, &proof).await?;
    Ok(CommandExit::worst([run, proof.exit()]))
}
