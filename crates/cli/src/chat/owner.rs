//! Opens and owns the sessions of conversations.

use std::path::{Path, PathBuf};

use protocol::{PermissionMode, SessionId};
use runtime::SessionStart;
use runtime::slash::SlashRegistry;
use tui::chat::{AllowRules, ConversationOwner, OpenConversation, SessionChoice, SessionLink};

use super::prepared_chat::{PreparedChat, ensure_not_running};
use crate::approvals;
use crate::args::{PermissionArgs, RuleScope, RunArgs};
use crate::current_session::SessionUse;
use crate::error::CliError;
use crate::foreground_session::ForegroundSession;
use crate::run;
use crate::setup::Setup;
use crate::slash_commands::RegistrySlashCommands;

/// Opens the sessions of a conversation with the user's settings and flags.
#[derive(Clone, Copy)]
pub(super) struct ChatOwner<'a> {
    pub(super) setup: &'a Setup,
    pub(super) args: &'a RunArgs,
}

/// An open session, and how it was opened.
pub(super) struct RunningChat {
    session: ForegroundSession,
    start: SessionStart,
}

impl AllowRules for Setup {
    fn save_allow_rule(&self, folder: &Path, rule: &str) -> Result<PathBuf, String> {
        approvals::save_allow_rule(self, folder, rule, RuleScope::Local).map_err(|failure| failure.to_string())
    }
}

impl AllowRules for ChatOwner<'_> {
    fn save_allow_rule(&self, folder: &Path, rule: &str) -> Result<PathBuf, String> {
        self.setup.save_allow_rule(folder, rule)
    }
}

impl ConversationOwner for ChatOwner<'_> {
    type Prepared = PreparedChat;
    type Running = RunningChat;
    type Error = CliError;

    fn prepare(&self, current: &OpenConversation, choice: SessionChoice) -> Result<PreparedChat, CliError> {
        match choice {
            SessionChoice::Mode(mode) => {
                self.prepare_current(current, SessionStart::Resume(current.session.id()), mode)
            }
            SessionChoice::New => self.prepare_current(current, SessionStart::New, current.permission_mode),
            SessionChoice::Other(prefix) => self.prepare_other(current.session.id(), &prefix),
        }
    }

    fn resumed_session(&self, prepared: &PreparedChat) -> Option<SessionId> {
        match prepared.start {
            SessionStart::Resume(id) => Some(id),
            SessionStart::New | SessionStart::Fork(_) => None,
        }
    }

    async fn open(&self, prepared: PreparedChat) -> Result<(RunningChat, OpenConversation), CliError> {
        let PreparedChat { settings, start, resumed } = prepared;
        let (model, permission_mode) = (settings.model_spec.clone(), settings.policy.mode);
        let (cwd, slashes) = (settings.cwd.display().to_string(), SlashRegistry::of(&settings.catalog));
        let session = ForegroundSession::open(settings, start, SessionUse::Conversation).await?;
        let notice = |notice: &runtime::InstructionNotice| format!("{}: {}", notice.path.display(), notice.text);
        let opened = OpenConversation {
            session_mode: session.handle().view()?.mode,
            session: session.handle().clone(),
            root: session.root(),
            link: SessionLink::Owned,
            first_seq: session.first_seq(),
            notices: session.notices().iter().map(notice).collect(),
            slash_commands: Box::new(RegistrySlashCommands(slashes)),
            model,
            cwd,
            permission_mode,
            resumed,
        };
        Ok((RunningChat { session, start }, opened))
    }

    async fn resume_work(&self, running: &RunningChat) -> Result<(), CliError> {
        match running.start {
            SessionStart::Resume(_) => Ok(running.session.resume().await?),
            SessionStart::New | SessionStart::Fork(_) => Ok(()),
        }
    }

    async fn leave(&self, running: RunningChat) -> Result<(), CliError> {
        running.session.leave().await?;
        Ok(())
    }
}

impl ChatOwner<'_> {
    /// Prepares a session with the model and the folder of the current one.
    fn prepare_current(
        &self,
        current: &OpenConversation,
        start: SessionStart,
        mode: PermissionMode,
    ) -> Result<PreparedChat, CliError> {
        let (model, directory) = (current.session.view()?.model, current.cwd.clone());
        let session_mode = self.args.mode.without_session_mode();
        let args =
            RunArgs { model: Some(model), directory: Some(directory.into()), mode: session_mode, ..self.args.clone() };
        PreparedChat::new(self.setup, &args, start, Some(mode))
    }

    fn prepare_other(&self, current: SessionId, prefix: &str) -> Result<PreparedChat, CliError> {
        let id = run::find_session(&self.setup.home, prefix)?;
        if id == current {
            return Err(CliError::usage("this session is already open"));
        }
        ensure_not_running(&self.setup.home, id)?;
        // The session keeps its own folder, model and mode.
        let permissions = PermissionArgs { allow_all: false, permission_mode: None, ..self.args.permissions.clone() };
        let mode = self.args.mode.without_session_mode();
        let args = RunArgs { model: None, directory: None, permissions, mode, ..self.args.clone() };
        PreparedChat::new(self.setup, &args, SessionStart::Resume(id), None)
    }
}
