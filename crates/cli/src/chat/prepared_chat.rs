//! Sessions that are ready to open for a conversation.

use client::SessionHandle;
use host::{Clock, Home, SystemClock};
use protocol::{PermissionMode, SessionId};
use runtime::{SessionSettings, SessionStart};

use crate::args::{AskWait, PermissionArgs, RunArgs};
use crate::error::CliError;
use crate::sessions;
use crate::setup::Setup;

/// A session that is ready to open: its settings are valid.
#[derive(Debug)]
pub(super) struct PreparedChat {
    pub(super) settings: SessionSettings,
    pub(super) start: SessionStart,
    /// How the session was left, if it is resumed.
    pub(super) resumed: Option<String>,
}

impl PreparedChat {
    /// Reads the settings of the session. `mode` overrides the flags and the mode stored in the session.
    pub(super) fn new(
        setup: &Setup,
        args: &RunArgs,
        start: SessionStart,
        mode: Option<PermissionMode>,
    ) -> Result<PreparedChat, CliError> {
        let resumed = match start {
            SessionStart::New => None,
            SessionStart::Resume(id) | SessionStart::Fork(id) => Some(SessionHandle::new(&setup.home, id).view()?),
        };
        // The user is present, so wait for a decision without a limit.
        let mut args = RunArgs { ask_wait: Some(AskWait::Forever), ..args.clone() };
        if let Some(mode) = mode {
            args.permissions = PermissionArgs { allow_all: false, permission_mode: Some(mode), ..args.permissions };
        }
        let settings = setup.settings(&args, resumed.as_ref())?;
        let resumed = resumed.map(|view| sessions::describe_resumed(&view, SystemClock.now()));
        Ok(PreparedChat { settings, start, resumed })
    }
}

/// Fails if another process runs the session.
pub(super) fn ensure_not_running(home: &Home, id: SessionId) -> Result<(), CliError> {
    match SessionHandle::new(home, id).owner_pid()? {
        Some(pid) => Err(CliError::usage(format!("another process ({pid}) runs session {id}"))),
        None => Ok(()),
    }
}
