//! Finds the session whose todos a command works on.

use client::SessionHandle;
use host::Home;
use protocol::SessionId;

use crate::args::TodoSessionArgs;
use crate::error::CliError;
use crate::run::{find_session, latest_session};
use crate::setup;

/// A session whose todos are shown or edited.
#[derive(Debug)]
pub(super) struct TodoSession {
    pub(super) session: SessionId,
    pub(super) handle: SessionHandle,
    pub(super) json: bool,
}

impl TodoSession {
    pub(super) fn find(home: &Home, args: &TodoSessionArgs) -> Result<TodoSession, CliError> {
        let session = match &args.session {
            Some(prefix) => find_session(home, prefix)?,
            None => latest_in_folder(home)?,
        };
        Ok(TodoSession { session, handle: SessionHandle::new(home, session), json: args.json })
    }
}

fn latest_in_folder(home: &Home) -> Result<SessionId, CliError> {
    let cwd = setup::working_folder(None)?.display().to_string();
    latest_session(home, &cwd)?.ok_or_else(|| {
        CliError::usage(format!("there is no session in {cwd}"))
            .with_hint("name one with --session; `bosun sessions` lists them")
    })
}
