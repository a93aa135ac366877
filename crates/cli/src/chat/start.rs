//! Starts conversations.

use client::SessionHandle;
use runtime::SessionStart;
use tui::chat::{Conversation, ConversationEnd, ConversationOwner, InputHistory};

use super::model_setup::{self, ModelSetupOutcome};
use super::owner::ChatOwner;
use super::prepared_chat::PreparedChat;
use crate::args::{DemoArgs, RunArgs};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::serve::{HostedWork, begin};
use crate::setup::Setup;
use crate::{current_session, demo, log, run};

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
        ConversationEnd::Background => continue_in_background(&setup, &args).await?,
        ConversationEnd::Stopped => CommandExit::Cancelled,
        ConversationEnd::Failed => CommandExit::Failed,
    })
}

/// Hands the session that was just left to the session host. One in which nothing was said is gone.
async fn continue_in_background(setup: &Setup, args: &RunArgs) -> Result<CommandExit, CliError> {
    let left = current_session::get().filter(|id| SessionHandle::new(&setup.home, *id).view().is_ok());
    if let Some(id) = left {
        let start = SessionStart::Resume(id);
        let options = run::portable_options(setup, args.session_options(), args, start)?.without_stored();
        begin(&setup.home, HostedWork::Session(start, &options)).await?;
    }
    Ok(CommandExit::Success)
}
