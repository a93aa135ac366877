//! From the command line to a dialogue and back: one terminal, one session after the other.

use super::choose::{self, Decided};
use super::dialogue::{Dialogue, End};
use super::open::Prepared;
use super::person::Person;
use crate::args::{DemoArgs, RunArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::{demo, run};

/// Talks until the person leaves. An `opening` is said first, as if it had been typed.
pub(crate) async fn talk(args: RunArgs, mut opening: Option<String>) -> Result<Exit, Failure> {
    let mut setup = Setup::read()?;
    setup.ask_catalog(args.directory.as_deref()).await;
    let start = run::start(&args, &setup.home)?;
    let prepared = match Prepared::new(&setup, &args, start, None) {
        Err(failure) if failure.lacks().is_some() => match choose::model(&mut setup, &args, failure).await? {
            Decided::Model => Prepared::new(&setup, &args, start, None)?,
            Decided::Demo => return demo::show(&DemoArgs { dir: None, fast: false }).await,
        },
        prepared => prepared?,
    };
    if let Err(error) = host::limits::raise_open_files() {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    // Before the terminal is taken over, so that what is wrong is told as usual.
    let mut opened = prepared.open().await?;
    let mut person = Person::meet(&setup)?;
    let mut before = None;
    loop {
        let mut dialogue = Dialogue::begin(&setup, &args, &mut person, opened, before).await?;
        let end = dialogue.hold(opening.take()).await?;
        before = Some(dialogue.leave(&end).await?);
        match end {
            End::Switch(next) => opened = next.open().await?,
            End::Over(exit) => return Ok(exit),
        }
    }
}
