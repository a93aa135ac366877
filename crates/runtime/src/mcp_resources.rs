//! The resources of MCP servers, for the agents that may use these servers.

use std::sync::Arc;

use protocol::Clip;
use tools::{BoxFuture, McpResources, ToolCatalog, ToolError};

use crate::prepared_agent::PreparedAgent;
use crate::session_context::SessionContext;

/// Maximum bytes of a server's name in a refusal.
const MAX_NAME_BYTES: usize = 100;

/// The resources of the servers that one agent may use.
#[derive(Debug)]
pub(crate) struct AgentMcpResources {
    pub(crate) context: Arc<SessionContext>,
    pub(crate) agent: Arc<PreparedAgent>,
}

impl AgentMcpResources {
    /// The catalogue, and the servers in it that the agent may use.
    fn servers(&self) -> Result<(&Arc<dyn ToolCatalog>, Vec<String>), ToolError> {
        let catalog = self.agent.tool_catalog.as_ref();
        let catalog = catalog.ok_or_else(|| ToolError::refused("there are no MCP servers"))?;
        Ok((catalog, self.context.catalog.sources_of(&self.agent.definition)))
    }

    fn require_known(servers: &[String], server: &str) -> Result<(), ToolError> {
        if servers.iter().any(|known| known == server) {
            return Ok(());
        }
        let (server, known) = (Clip::new(server, MAX_NAME_BYTES), servers.join(", "));
        Err(ToolError::refused(format!("there is no MCP server `{server}`; there are: {known}")))
    }
}

impl McpResources for AgentMcpResources {
    fn list(&self, server: Option<String>) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move {
            let (catalog, servers) = self.servers()?;
            let guardian = &self.context.workplace.guardian;
            if let Some(server) = server {
                Self::require_known(&servers, &server)?;
                return catalog.resources(&server, guardian).await;
            }
            let mut texts = Vec::new();
            for server in &servers {
                texts.push(match catalog.resources(server, guardian).await {
                    Ok(text) => text,
                    Err(ToolError::Refused(why)) => why,
                    Err(failed @ (ToolError::Failed(_) | ToolError::Rejected(_))) => return Err(failed),
                });
            }
            Ok(texts.join("\n"))
        })
    }

    fn read(&self, server: String, uri: String) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move {
            let (catalog, servers) = self.servers()?;
            Self::require_known(&servers, &server)?;
            catalog.read_resource(&server, &uri, &self.context.workplace.guardian).await
        })
    }
}
