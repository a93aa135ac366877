//! Starts conversations.

use tui::chat::{Conversation, ConversationEnd, ConversationOwner, InputHistory};

use super::model_setup::{self, ModelSetupOutcome};
use super::owner::ChatOwner;
use super::prepared_chat::PreparedChat;
use crate::args::{DemoArgs, RunArgs};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;
use crate::{demo, log, run};

/// Runs conversations until the user leaves. An `opening` is sent first, as if typed.
pub(crate) async fn run_chat(args: RunArgs, opening: Option<String>) -> Result<CommandExit, CliError> {
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
    let owner = ChatOwner { setup: &setup, args: &args };
    let (running, opened) = owner.open(prepared).await?;
    let history = InputHistory::open(setup.home.root(), log::redact);
    let conversation = Conversation::open(&owner, setup.terminal_settings(), history)?;
    Ok(match conversation.run(running, opened, opening).await? {
        ConversationEnd::Left => CommandExit::Success,
        ConversationEnd::Stopped => CommandExit::Cancelled,
        ConversationEnd::Failed => CommandExit::Failed,
    })
}
