//! The session that this process runs for the user at its terminal. Only its owner opens, resumes, stops and leaves it;
//! everything else goes through its handle, as it does for every client.

use std::sync::Arc;

use client::{EventStream, FollowOptions, SessionHandle, StoreError};
use protocol::api::StatusView;
use protocol::{CancelBy, SessionId, TaskId};
use runtime::{InputRejection, InstructionNotice, Session, SessionSettings, SessionStart, SessionStatus};
use tokio::sync::watch;

use crate::current_session::{self, SessionUse};
use crate::error::CliError;

/// A session that this process runs in the foreground.
#[derive(Debug)]
pub(crate) struct ForegroundSession {
    session: Session,
}

impl ForegroundSession {
    /// Opens a session. Interrupted work stays interrupted until [`ForegroundSession::resume`].
    pub(crate) async fn open(
        settings: SessionSettings,
        start: SessionStart,
        usage: SessionUse,
    ) -> Result<ForegroundSession, CliError> {
        let session = Session::open(settings, start).await?;
        current_session::set(session.id(), usage);
        Ok(ForegroundSession { session })
    }

    /// The session for clients, which may keep it.
    pub(crate) fn handle(&self) -> &SessionHandle {
        self.session.handle()
    }

    pub(crate) fn id(&self) -> SessionId {
        self.session.id()
    }

    pub(crate) fn root(&self) -> TaskId {
        self.session.root()
    }

    /// The number of the last event before this process opened the session.
    pub(crate) fn first_seq(&self) -> u64 {
        self.session.first_seq()
    }

    /// Notices for the user about the session's instruction files.
    pub(crate) fn notices(&self) -> &[InstructionNotice] {
        self.session.notices()
    }

    /// Everything that happens since this process opened the session.
    pub(crate) fn follow(&self) -> EventStream {
        self.handle().follow(self.first_seq(), FollowOptions::default())
    }

    /// The session's status now.
    pub(crate) fn status(&self) -> StatusView {
        self.session.status().borrow().view()
    }

    /// Knows whether the session is paused, even after this process has left it.
    pub(crate) fn pause(&self) -> SessionPause {
        SessionPause(self.session.status())
    }

    /// Whether a task is busy or interrupted, or mail or commands are waiting.
    pub(crate) async fn has_work(&self) -> Result<bool, InputRejection> {
        self.session.has_work().await
    }

    /// Applies the commands that wait in its file, and resumes everything that was interrupted.
    pub(crate) async fn resume(&self) -> Result<(), InputRejection> {
        self.session.resume().await
    }

    /// Stops every task; the session accepts no new ones.
    pub(crate) async fn stop(&self, by: CancelBy) -> Result<(), InputRejection> {
        self.session.stop(by).await
    }

    /// Leaves the session: running tasks are interrupted, so that the next owner can resume them.
    pub(crate) async fn leave(self) -> Result<(), StoreError> {
        self.session.leave().await
    }
}

/// Whether a session is paused, and why.
#[derive(Debug)]
pub(crate) struct SessionPause(watch::Receiver<SessionStatus>);

impl SessionPause {
    /// The failed commit that paused the session.
    pub(crate) fn reason(&self) -> Option<Arc<StoreError>> {
        self.0.borrow().paused.clone()
    }
}
