//! What a session needs of its client before it is opened: the tools of its servers, and the form that answers must have.

use std::sync::Arc;

use tools::Tool;

use super::args::ClaudeArgs;
use super::initialize::InitializeRequest;
use super::mcp_servers::{self, ClientMcpServers};
use super::structured::{self, StructuredOutputState};
use super::wire::ControlChannel;
use crate::OpenRefusal;

/// What the client brings along.
#[derive(Debug)]
pub(super) struct ClientSetup {
    /// Its MCP servers.
    pub(super) servers: ClientMcpServers,
    /// The form that answers must have, if it wants one.
    pub(super) structured: Option<StructuredOutputState>,
}

impl ClientSetup {
    /// Reads what it says, and greets its servers.
    pub(super) async fn fetch(
        args: &ClaudeArgs,
        hello: &InitializeRequest,
        control: &Arc<ControlChannel>,
    ) -> Result<ClientSetup, OpenRefusal> {
        let refused = |words: String| OpenRefusal { words, hint: None };
        let named = mcp_servers::read_configs(&args.mcp_configs, &hello.request).map_err(refused)?;
        let schema = structured::requested_schema(args.json_schema.as_deref(), &hello.request).map_err(refused)?;
        let structured = schema.as_ref().map(StructuredOutputState::new).transpose().map_err(refused)?;
        Ok(ClientSetup { servers: ClientMcpServers::connect_all(control, named).await, structured })
    }

    /// The tools that the session has because of it.
    pub(super) fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.servers.tools().into_iter().chain(self.structured.as_ref().map(StructuredOutputState::tool)).collect()
    }
}
