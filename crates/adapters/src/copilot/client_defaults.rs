//! Adds what clients have configured for all their sessions to the request for one.

use std::sync::Arc;

use rpc::ErrorObject;
use server::OpenRequest;

use super::mcp_servers::read_server;
use super::methods::mcp_config::ConfiguredServers;
use super::methods::{skill_discovery, user_settings};
use super::plugins::PluginStore;
use super::server::CopilotServer;
use super::state_provider::{DatabaseCopy, StateFiles};

/// Adds plugins, MCP servers and settings, and the client that sends requests to models. What the session's own options
/// say comes first.
pub(crate) fn apply(server: &CopilotServer, session: &str, request: &mut OpenRequest) -> Result<(), ErrorObject> {
    request.carrier = server.inference.carrier(session);
    request.secrets = server.secrets();
    if let Some(provider) = server.state_provider().filter(|provider| provider.has_database) {
        let copy = DatabaseCopy::new(StateFiles::new(provider, session));
        request.client_extensions.sql_observer = Some(Arc::new(copy));
    }
    let installed = PluginStore(&server.state).enabled_folders().map_err(ErrorObject::internal)?;
    for folder in server.plugin_folders().into_iter().chain(installed) {
        if !request.options.plugin_dirs.contains(&folder) {
            request.options.plugin_dirs.push(folder);
        }
    }
    let configured = ConfiguredServers::read(&server.state).map_err(ErrorObject::internal)?;
    if !request.options.only_these_mcp_servers {
        for (name, config) in &configured.servers {
            // A server that could not be used was not stored.
            if let (false, Ok(spec)) = (configured.disabled.contains(name), read_server(config)) {
                request.options.mcp_servers.entry(name.clone()).or_insert(spec);
            }
        }
    }
    request.options.disabled_mcp_servers.extend(configured.disabled);
    let disabled = skill_discovery::disabled_skills(&server.state).map_err(ErrorObject::internal)?;
    request.options.disabled_skills.extend(disabled);
    if request.options.settings.is_none() {
        request.options.settings = user_settings::settings_text(&server.state).map_err(ErrorObject::internal)?;
    }
    Ok(())
}
