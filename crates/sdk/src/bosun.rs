//! Where sessions are kept, and the way to them.

use std::path::PathBuf;

use config::{Env, File};
use host::Home;
use protocol::SessionId;
use protocol::api::SessionView;
use runtime::Start;
use store::Reader;

use crate::{Builder, Error};

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
    pub fn session(&self) -> Builder {
        Builder::new(self.clone(), Start::New, None)
    }

    /// A session that goes on where it was left, as it was run before unless it is told otherwise.
    pub fn resume(&self, id: SessionId) -> Result<Builder, Error> {
        Ok(Builder::new(self.clone(), Start::Resume(id), Some(self.before(id)?)))
    }

    /// A new session that begins as a copy of another; nothing that is under way there goes on here.
    pub fn fork(&self, id: SessionId) -> Result<Builder, Error> {
        Ok(Builder::new(self.clone(), Start::Fork(id), Some(self.before(id)?)))
    }

    /// What a session is, whoever runs it.
    pub fn view(&self, id: SessionId) -> Result<SessionView, Error> {
        Ok(Reader::open(&self.home, id)?.session_view()?)
    }

    fn before(&self, id: SessionId) -> Result<(SessionView, File), Error> {
        let view = self.view(id)?;
        let file = File::of_session(&view)?;
        Ok((view, file))
    }
}
