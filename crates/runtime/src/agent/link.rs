//! An agent's end of its link: the events that it receives, and the session that answers its requests.

use std::sync::Arc;

use protocol::RunId;
use tools::Heartbeat;

use crate::run_requests::SessionRequests;
use crate::supervisor::{RunLink, RunMessages};

/// The link of an agent's run.
#[derive(Debug)]
pub(crate) struct AgentLink {
    pub(crate) run: RunId,
    pub(crate) session: Arc<dyn SessionRequests>,
    pub(crate) messages: RunMessages,
    /// Shows the watchdog that the run is alive.
    pub(crate) heartbeat: Heartbeat,
}

impl AgentLink {
    /// The link of a run whose requests this session answers.
    pub(crate) fn new(link: RunLink, session: Arc<dyn SessionRequests>) -> AgentLink {
        AgentLink { run: link.run, session, messages: link.messages, heartbeat: link.heartbeat }
    }
}
