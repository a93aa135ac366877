//! What a session needs from its client before it is opened: the tools of its MCP servers, and the answer schema.

use std::sync::Arc;

use protocol::Hinted as _;
use tools::Tool;

use super::args::ClaudeArgs;
use super::initialize::InitializeRequest;
use super::mcp_servers::{ClientServerConfigs, InProcessServers};
use super::structured::{self, StructuredOutputState};
use super::wire::ControlChannel;
use server::OpenRefusal;

/// MCP servers and structured output that the client supplies.
#[derive(Debug)]
pub(super) struct ClientSetup {
    /// Its MCP servers as it configures them.
    pub(super) configs: ClientServerConfigs,
    /// Those inside it.
    pub(super) servers: Arc<InProcessServers>,
    /// The state of structured output, if the client wants it.
    pub(super) structured: Option<StructuredOutputState>,
}

impl ClientSetup {
    /// Reads the client's options, and connects to the servers inside it.
    pub(super) async fn fetch(
        args: &ClaudeArgs,
        initialize: &InitializeRequest,
        control: &Arc<ControlChannel>,
    ) -> Result<ClientSetup, OpenRefusal> {
        let refused = |words: String| OpenRefusal { words, hint: None };
        let configs = ClientServerConfigs::read(&args.mcp_configs, &initialize.request).map_err(refused)?;
        let schema = structured::requested_schema(args.json_schema.as_deref(), &initialize.request).map_err(refused)?;
        let structured = schema.as_ref().map(StructuredOutputState::new).transpose();
        let structured = structured.map_err(|error| OpenRefusal { words: error.to_string(), hint: error.hint() })?;
        let servers = Arc::new(InProcessServers::connect_all(control, &configs).await);
        Ok(ClientSetup { configs, servers, structured })
    }

    /// The tools that this adds to the session.
    pub(super) fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.servers.tools().into_iter().chain(self.structured.as_ref().map(StructuredOutputState::tool)).collect()
    }
}
