//! Entry point: the home that stores sessions.

use std::path::PathBuf;

use client::SessionHandle;
use config::Env;
use host::Home;
use protocol::SessionId;
use protocol::api::SessionView;
use runtime::SessionStart;

use crate::{Error, SessionBuilder};

/// A home that stores sessions.
#[derive(Debug, Clone)]
pub struct Bosun {
    pub(crate) home: Home,
    pub(crate) env: Env,
}

impl Bosun {
    /// Opens the home in a folder, and creates it if it does not exist. Provider keys come from the environment.
    pub fn open(home: impl Into<PathBuf>) -> Result<Bosun, Error> {
        Ok(Bosun { home: Home::open(home.into())?, env: Env::read() })
    }

    /// Starts a new session.
    pub fn session(&self) -> SessionBuilder {
        SessionBuilder::new(self.clone(), SessionStart::New, None)
    }

    /// Resumes a session with its previous settings, unless the builder changes them.
    pub fn resume(&self, id: SessionId) -> Result<SessionBuilder, Error> {
        Ok(SessionBuilder::new(self.clone(), SessionStart::Resume(id), Some(self.view(id)?)))
    }

    /// Starts a new session as a copy of another. Running work of the other session does not continue in the copy.
    pub fn fork(&self, id: SessionId) -> Result<SessionBuilder, Error> {
        Ok(SessionBuilder::new(self.clone(), SessionStart::Fork(id), Some(self.view(id)?)))
    }

    /// Describes a session, no matter which process owns it.
    pub fn view(&self, id: SessionId) -> Result<SessionView, Error> {
        Ok(SessionHandle::new(&self.home, id).view()?)
    }
}
