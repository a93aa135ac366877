//! An agent's end of its link: the events that it hears, and the session that answers its requests.

use std::sync::Arc;

use protocol::RunId;
use tools::Heartbeat;

use crate::run_requests::SessionRequests;
use crate::supervisor::{RunLink, RunMessages};
use crate::watchdog::{LatestText, StreamedTokens};

/// The link of an agent's run.
#[derive(Debug)]
pub(crate) struct AgentLink {
    pub(crate) run: RunId,
    pub(crate) session: Arc<dyn SessionRequests>,
    pub(crate) messages: RunMessages,
    /// Shows the watchdog that the run is alive.
    pub(crate) heartbeat: Heartbeat,
    /// The latest text of the run.
    pub(crate) latest_text: LatestText,
    /// The tokens of the current answer that have arrived.
    pub(crate) streamed: StreamedTokens,
}

impl AgentLink {
    /// The link of a run whose requests this session answers.
    pub(crate) fn new(link: RunLink, session: Arc<dyn SessionRequests>) -> AgentLink {
        let RunLink { run, messages, heartbeat, latest_text, streamed, supervisor: _, call_waits: _, stop: _ } = link;
        AgentLink { run, session, messages, heartbeat, latest_text, streamed }
    }
}
