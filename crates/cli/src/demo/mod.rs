//! `bosun demo`: a fleet of scripted agents repairs a small sample with real tools, each in a checkout of its own, and
//! their work is merged. It is run by the same code as `bosun fleet run`.
//!
//! Everything it makes, its session included, is in one folder that stays, and nothing of the user's is touched.
//! It succeeds only if the sample's tests pass at the end, run once more without the agents.

mod beginning;
mod ending;
mod folder;
mod history;
mod pace;
mod stage;

use crate::args::DemoArgs;
use crate::exit::Exit;
use crate::failure::Failure;

use folder::Folder;
use stage::Stage;

pub(crate) async fn show(args: &DemoArgs) -> Result<Exit, Failure> {
    let folder = Folder::make(args.dir.as_deref())?;
    let stage = Stage::set(&folder, pace::of(args)).await?;
    beginning::tell(&folder, &stage);
    let run = stage.play().await?;
    let proof = stage.prove().await?;
    ending::tell(&folder, &stage, run, &proof).await?;
    Ok(Exit::worst([run, proof.exit()]))
}
