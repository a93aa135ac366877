//! Where sessions are kept, and the way to them.

use std::path::PathBuf;

use config::{Env, SettingsFile};
use host::Home;
use protocol::SessionId;
use protocol::api::SessionView;
use runtime::SessionStart;
use store::SessionReader;

use crate::{Error, SessionBuilder};

/// A home of sessions.
#[derive(Debug, Clone)]
pub struct Bosun {
    pub(crate) home: Home,
    pub(crate) env: Env,
}

impl Bosun {
    /// Opens the home in a folder, and makes it if it is not there. Keys of providers come from the environment.
    pub fn open(home: impl Into<PathBuf>) -> Result<Bosun, Error> {
        Ok(Bosun { home: Home::open(home.into())?, env: Env::read() })
    }

    /// A new session.
    pub fn session(&self) -> SessionBuilder {
        SessionBuilder::new(self.clone(), SessionStart::New, None)
    }

    /// A session that goes on where it was left, as it was run before unless it is told otherwise.
    pub fn resume(&self, id: SessionId) -> Result<SessionBuilder, Error> {
        Ok(SessionBuilder::new(self.clone(), SessionStart::Resume(id), Some(self.previous(id)?)))
    }

    /// A new session that begins as a copy of another; nothing that is under way there goes on here.
    pub fn fork(&self, id: SessionId) -> Result<SessionBuilder, Error> {
        Ok(SessionBuilder::new(self.clone(), SessionStart::Fork(id), Some(self.previous(id)?)))
    }

    /// What a session is, whoever runs it.
    pub fn view(&self, id: SessionId) -> Result<SessionView, Error> {
        Ok(SessionReader::open(&self.home, id)?.session_view()?)
    }

    fn previous(&self, id: SessionId) -> Result<(SessionView, SettingsFile), Error> {
        let view = self.view(id)?;
        let file = SettingsFile::of_session(&view)?;
        Ok((view, file))
    }
}
