//! The session as its owner offers it to clients in the same process.

use std::sync::Arc;
use std::time::Duration;

use client::{InProcessMessages, InProcessSession};
use host::Home;
use protocol::SessionId;
use rpc::InProcessConnector;
use store::StoreError;
use tokio::sync::watch;

use super::SessionStatus;
use super::client_messages::ClientMessages;
use crate::bus::EventBus;

/// The session's events, status and API for clients in this process.
#[derive(Debug)]
pub(super) struct InProcessOwner {
    pub(super) home: Home,
    pub(super) id: SessionId,
    pub(super) connector: InProcessConnector,
    pub(super) bus: EventBus,
    pub(super) status: watch::Receiver<SessionStatus>,
}

impl InProcessSession for InProcessOwner {
    fn home(&self) -> &Home {
        &self.home
    }

    fn id(&self) -> SessionId {
        self.id
    }

    fn connector(&self) -> &InProcessConnector {
        &self.connector
    }

    fn messages(&self, after: u64, pause: Duration) -> Box<dyn InProcessMessages> {
        Box::new(ClientMessages::new(self.bus.subscribe(after), self.status.clone(), pause))
    }

    fn pause_reason(&self) -> Option<Arc<StoreError>> {
        self.status.borrow().paused.clone()
    }
}
