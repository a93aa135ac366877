//! `bosun demo`: scripted agents repair a small sample with real tools, several at the same time.
//!
//! Everything it makes, its session included, is in one folder that stays, and nothing of the user's is touched.
//! It succeeds only if the sample's tests pass at the end, run once more without the agent.

mod diff;
mod ending;
mod folder;
mod pace;
mod stage;
mod story;
mod tree;

use crate::args::DemoArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;

use folder::Folder;
use stage::Stage;

pub(crate) async fn show(args: &DemoArgs) -> Result<Exit, Failure> {
    let folder = Folder::make(args.dir.as_deref())?;
    print::answer(folder.introduction());
    let pace = pace::of(args);
    let stage = Stage::set(&folder, pace)?;
    let (story, report) = stage.play().await?;
    let proof = stage.prove().await?;
    ending::tell(&folder, &story, &report, &proof, pace);
    // One agent fails on purpose and is started again.
    let run = if report.exit() == Exit::Partial { Exit::Success } else { report.exit() };
    Ok(Exit::worst([run, proof.exit()]))
}
