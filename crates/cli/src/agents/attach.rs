//! `bosun agents attach`: a conversation with a session that another process runs. The session host keeps it for as long
//! as the conversation lasts; leaving the conversation changes nothing.

use std::convert::Infallible;
use std::path::{Path, PathBuf};

use client::{HostClient, SessionHandle};
use host::Home;
use protocol::SessionId;
use protocol::api::{SessionView, TasksParams};
use runtime::slash::SlashRegistry;
use tui::chat::{
    AllowRules, Conversation, ConversationEnd, ConversationOwner, InputHistory, OpenConversation, SessionChoice,
    SessionLink,
};

use super::list;
use crate::args::AgentListArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::run::{find_session, has_terminal};
use crate::setup::Setup;
use crate::slash_commands::RegistrySlashCommands;
use crate::{log, serve};

/// A longer conversation shows only its last exchange.
const MAX_REPLAYED_EVENTS: u64 = 20_000;

/// What a conversation with a session of another process asks of this one.
struct AttachedOwner<'a> {
    setup: &'a Setup,
}

/// The connection that keeps the session attached; none if a process other than the session host runs it.
type HostConnection = Option<HostClient>;

/// Attaches this terminal to a session, until the user leaves it.
pub(super) async fn attach(prefix: Option<&str>) -> Result<CommandExit, CliError> {
    let setup = Setup::read()?;
    let id = match prefix {
        Some(prefix) => find_session(&setup.home, prefix)?,
        None => most_urgent(&setup.home).await?,
    };
    if !has_terminal() {
        return Err(CliError::usage("a conversation needs a terminal")
            .with_hint(format!("follow the session with: bosun agents logs {id} --follow")));
    }
    // Before taking over the terminal, so that errors are printed as usual.
    let (connection, view) = keep(&setup.home, id).await?;
    let opened = open(&setup, &view)?;
    let owner = AttachedOwner { setup: &setup };
    let history = InputHistory::open(setup.home.root(), log::redact);
    let conversation = Conversation::open(&owner, setup.terminal_settings(), history)?;
    const NO_OPENING: Option<String> = None;
    Ok(match conversation.run(connection, opened, NO_OPENING).await? {
        ConversationEnd::Left | ConversationEnd::Background => CommandExit::Success,
        ConversationEnd::Stopped => CommandExit::Cancelled,
        ConversationEnd::Failed => CommandExit::Failed,
    })
}

/// The session that needs the user, or else the one that works, or else the one that changed last.
async fn most_urgent(home: &Home) -> Result<SessionId, CliError> {
    let (rows, _unreadable) = list::read(home, &AgentListArgs { all: true, ..AgentListArgs::default() }).await?;
    let urgent = rows.first().map(|row| row.id);
    urgent.ok_or_else(|| CliError::usage("there is no session").with_hint("start one with: bosun agents start \"…\""))
}

/// Has the session host keep the session, and resume it if it rests. A session that another process runs stays there.
async fn keep(home: &Home, id: SessionId) -> Result<(HostConnection, SessionView), CliError> {
    let view = SessionHandle::new(home, id).view()?;
    let host = serve::running_host(home).await?.map(|host| host.pid);
    if view.owner_pid.is_some() && view.owner_pid != host {
        return Ok((None, view));
    }
    let (client, view) = serve::attach(home, id).await?;
    Ok((Some(client), view))
}

/// The session as a conversation.
fn open(setup: &Setup, view: &SessionView) -> Result<OpenConversation, CliError> {
    let session = SessionHandle::new(&setup.home, view.id);
    let root = session.tasks(&TasksParams::all_tasks())?.tasks.into_iter().find(|task| task.parent.is_none());
    let root = root.ok_or_else(|| CliError::failed(format!("session {} has no main agent", view.id)))?.id;
    let definitions = setup.sources().folder_agents(&Default::default(), Path::new(&view.cwd))?;
    let is_long = view.events > MAX_REPLAYED_EVENTS;
    let earlier = || format!("the conversation is long; all of it: bosun agents logs {}", view.id);
    Ok(OpenConversation {
        session,
        root,
        link: SessionLink::Attached,
        first_seq: if is_long { view.events } else { 0 },
        notices: Vec::new(),
        slash_commands: Box::new(RegistrySlashCommands(SlashRegistry::of(&definitions.catalog))),
        model: view.model.clone(),
        cwd: view.cwd.clone(),
        permission_mode: view.permission,
        session_mode: view.mode,
        resumed: is_long.then(earlier),
    })
}

impl AllowRules for AttachedOwner<'_> {
    fn save_allow_rule(&self, folder: &Path, rule: &str) -> Result<PathBuf, String> {
        self.setup.save_allow_rule(folder, rule)
    }
}

impl ConversationOwner for AttachedOwner<'_> {
    type Prepared = Infallible;
    type Running = HostConnection;
    type Error = CliError;

    fn prepare(&self, _current: &OpenConversation, _choice: SessionChoice) -> Result<Infallible, CliError> {
        Err(CliError::usage("an attached terminal stays with its session"))
    }

    fn resumed_session(&self, prepared: &Infallible) -> Option<SessionId> {
        match *prepared {}
    }

    async fn open(&self, prepared: Infallible) -> Result<(HostConnection, OpenConversation), CliError> {
        match prepared {}
    }

    async fn resume_work(&self, _running: &HostConnection) -> Result<(), CliError> {
        Ok(())
    }

    async fn leave(&self, running: HostConnection) -> Result<(), CliError> {
        drop(running);
        Ok(())
    }
}
