//! Starts conversations: one terminal, one session after the other.

use tui::chat::terminal::ChatTerminal;

use super::dialogue::{Dialogue, DialogueEnd};
use super::model_setup::{self, ModelSetupOutcome};
use super::open_chat::PreparedChat;
use crate::args::{DemoArgs, RunArgs};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;
use crate::{demo, log, run};

/// Runs conversations until the user leaves. An `opening` is sent first, as if typed.
pub(crate) async fn run_chat(args: RunArgs, mut opening: Option<String>) -> Result<CommandExit, CliError> {
    let mut setup = Setup::read()?;
    setup.fetch_remote_catalog(args.directory.as_deref()).await;
    let start = run::session_start(&args, &setup.home)?;
    let prepared = match PreparedChat::new(&setup, &args, start, None) {
        Err(failure) if failure.missing_input().is_some() => {
            match model_setup::ask_for_model(&mut setup, &args, failure).await? {
                ModelSetupOutcome::Model => PreparedChat::new(&setup, &args, start, None)?,
                ModelSetupOutcome::Demo => return demo::run(&DemoArgs { dir: None, fast: false }).await,
            }
        }
        prepared => prepared?,
    };
    if let Err(error) = host::limits::raise_open_files() {
        tracing::warn!(%error, "cannot raise the limit of open files");
    }
    // Before taking over the terminal, so that errors are printed as usual.
    let (mut owner, mut opened) = prepared.open().await?;
    let mut terminal = ChatTerminal::open(setup.terminal_settings(), setup.home.root(), log::redact)?;
    let mut previous = None;
    loop {
        let mut dialogue = Dialogue::begin(&setup, &args, &mut terminal, &owner, opened, previous).await?;
        let end = dialogue.run(opening.take()).await?;
        previous = Some(dialogue.leave(owner, &end).await?);
        match end {
            DialogueEnd::Switch(next) => (owner, opened) = next.open().await?,
            DialogueEnd::Leave(exit) => return Ok(exit),
        }
    }
}
