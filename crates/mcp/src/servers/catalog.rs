//! The tools, resources and prompts of servers, as agents find them.

use std::sync::Arc;

use futures_util::future::join_all;
use host::Guardian;
use tools::{
    BoxFuture, CatalogListing, McpServerControl, OutsidePrompt, OutsidePromptUsage, RemoteTasks, Tool, ToolCatalog,
    ToolError,
};

use super::known_prompts::known_prompts;
use super::tool::SharedMcpTool;
use super::{McpServers, ServerSlot};
use crate::McpServer;
use crate::prompts::McpPrompt;

impl ToolCatalog for McpServers {
    fn for_agent(self: Arc<Self>, definition: &str) -> Arc<dyn ToolCatalog> {
        Arc::new(self.of_agent(definition))
    }

    fn sources(&self) -> Vec<String> {
        names_of(&self.usable())
    }

    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let slot = slot_of_name(&self.usable(), name)?;
        Some(Arc::new(SharedMcpTool { spec: slot.spec_of(name), slot }))
    }

    fn list<'a>(&'a self, query: &'a str, guardian: &'a Guardian) -> BoxFuture<'a, CatalogListing> {
        Box::pin(list_of(self.usable(), query, guardian))
    }

    fn resources<'a>(&'a self, source: &'a str, guardian: &'a Guardian) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move {
            let server = connected(&self.usable(), source, guardian).await?;
            server.resource_list().await.map_err(refused)
        })
    }

    fn read_resource<'a>(
        &'a self,
        source: &'a str,
        uri: &'a str,
        guardian: &'a Guardian,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move {
            let server = connected(&self.usable(), source, guardian).await?;
            server.read_resource(uri).await.map_err(refused)
        })
    }

    fn prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a str,
        guardian: &'a Guardian,
    ) -> BoxFuture<'a, Result<OutsidePrompt, ToolError>> {
        Box::pin(prompt_of(self.usable(), name, arguments, guardian))
    }

    fn known_prompts(&self) -> BoxFuture<'_, Vec<OutsidePromptUsage>> {
        Box::pin(known_prompts(self.usable()))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let entries = self.entries();
            join_all(entries.iter().filter_map(|entry| entry.slot.as_ref()).map(|slot| slot.close())).await;
        })
    }

    fn remote_tasks(&self) -> Option<&dyn RemoteTasks> {
        Some(self)
    }

    fn control(&self) -> Option<&dyn McpServerControl> {
        Some(self)
    }
}

fn refused(error: impl std::fmt::Display) -> ToolError {
    ToolError::refused(error.to_string())
}

fn names_of(slots: &[Arc<ServerSlot>]) -> Vec<String> {
    slots.iter().map(|slot| slot.settings.name.clone()).collect()
}

/// The server that a full name of a tool or a prompt belongs to: a server's name may begin with another one's.
fn slot_of_name(slots: &[Arc<ServerSlot>], name: &str) -> Option<Arc<ServerSlot>> {
    let of_server = slots.iter().filter(|slot| name.starts_with(&slot.prefix));
    of_server.max_by_key(|slot| slot.prefix.len()).cloned()
}

async fn list_of(slots: Vec<Arc<ServerSlot>>, query: &str, guardian: &Guardian) -> CatalogListing {
    let query = query.to_lowercase();
    let is_named = |slot: &&Arc<ServerSlot>| {
        let names = [&slot.settings.name, &slot.prefix].map(|name| name.to_lowercase());
        names.iter().any(|name| query.contains(name.as_str()))
    };
    let named: Vec<&Arc<ServerSlot>> = slots.iter().filter(is_named).collect();
    let asked = if named.is_empty() { slots.iter().collect() } else { named };
    let listed = join_all(asked.iter().map(|slot| slot.list(guardian))).await;
    let mut listing = CatalogListing::default();
    for (slot, listed) in asked.iter().zip(listed) {
        match listed {
            Ok(tools) => listing.tools.extend(tools),
            Err(why) => {
                let name = &slot.settings.name;
                tracing::warn!(server = name, why, "an MCP server is not available");
                listing.problems.push(format!("the MCP server `{name}` is not available: {why}"));
            }
        }
    }
    listing
}

/// The connection to one of these servers, made now if there is none.
async fn connected(slots: &[Arc<ServerSlot>], source: &str, guardian: &Guardian) -> Result<Arc<McpServer>, ToolError> {
    let unavailable = |why: String| ToolError::refused(format!("the MCP server `{source}` is not available: {why}"));
    let slot = slots.iter().find(|slot| slot.settings.name == source);
    let slot = slot.ok_or_else(|| ToolError::refused(format!("there is no MCP server `{source}`")))?;
    slot.connected(guardian).await.map_err(unavailable)
}

async fn prompt_of(
    slots: Vec<Arc<ServerSlot>>,
    name: &str,
    arguments: &str,
    guardian: &Guardian,
) -> Result<OutsidePrompt, ToolError> {
    let slot = slot_of_name(&slots, name).ok_or_else(|| {
        ToolError::refused(format!("there is no such MCP server; there are: {}", names_of(&slots).join(", ")))
    })?;
    let source = slot.settings.name.clone();
    let server = connected(&slots, &source, guardian).await?;
    let prompts = server.prompts().await.map_err(refused)?;
    let prompt =
        prompts.iter().find(|prompt| prompt.command(&source) == name).ok_or_else(|| no_prompt(&source, &prompts))?;
    let arguments = prompt.parse(arguments).map_err(ToolError::Refused)?;
    let text = server.prompt_text(prompt, arguments).await.map_err(refused)?;
    Ok(OutsidePrompt { source, text })
}

fn no_prompt(source: &str, prompts: &[McpPrompt]) -> ToolError {
    let names: Vec<String> = prompts.iter().map(|prompt| format!("/{}", prompt.command(source))).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    ToolError::refused(format!("the MCP server `{source}` has no such prompt; it has: {names}"))
}
