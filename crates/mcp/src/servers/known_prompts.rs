//! The prompts of the servers that run, for a list of commands.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;
use tools::OutsidePromptUsage;

use super::ServerSlot;
use super::connection::ConnectionState;
use crate::McpServer;
use crate::prompts::McpPrompt;

/// How long a server may take to list its prompts. A user waits for the list.
const PROMPTS_TIMEOUT: Duration = Duration::from_secs(2);

/// The prompts of the servers that are connected. No server is started.
pub(super) async fn known_prompts(slots: Vec<Arc<ServerSlot>>) -> Vec<OutsidePromptUsage> {
    let lists = join_all(slots.iter().map(|slot| prompts_of(slot))).await;
    lists.into_iter().flatten().collect()
}

async fn prompts_of(slot: &ServerSlot) -> Vec<OutsidePromptUsage> {
    let Some(server) = running_server(slot) else { return Vec::new() };
    match timeout(PROMPTS_TIMEOUT, server.prompts()).await {
        Ok(Ok(prompts)) => prompts.iter().map(|prompt| prompt.as_command(slot.name())).collect(),
        Ok(Err(error)) => {
            tracing::warn!(server = slot.name(), %error, "an MCP server does not list its prompts");
            Vec::new()
        }
        Err(_elapsed) => Vec::new(),
    }
}

/// The server, if it is connected and no one is connecting to it now.
fn running_server(slot: &ServerSlot) -> Option<Arc<McpServer>> {
    match &*slot.connection.try_lock().ok()? {
        ConnectionState::Connected(connection) => Some(Arc::clone(&connection.server)),
        ConnectionState::Disconnected(_) => None,
    }
}

impl McpPrompt {
    /// How a user runs it.
    pub(super) fn as_command(&self, server: &str) -> OutsidePromptUsage {
        let usage = format!("/{} {}", self.command(server), self.hint()).trim_end().to_owned();
        OutsidePromptUsage { usage, description: self.description.clone() }
    }
}
