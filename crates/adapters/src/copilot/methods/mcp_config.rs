//! `mcp.config.*`: the MCP servers that clients have configured for their sessions. Each is stored as it was given.

use std::collections::{BTreeMap, BTreeSet};

use rpc::ErrorObject;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::fields::required_text;
use super::unhandled;
use crate::copilot::client_state::{ClientState, ClientStateError};
use crate::copilot::connection::CopilotConnection;
use crate::copilot::mcp_servers::read_server;

/// The file with the servers.
const FILE: &str = "mcp-servers.json";

/// Maximum servers.
const MAX_SERVERS: usize = 64;

/// The servers that clients have configured.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ConfiguredServers {
    pub(crate) servers: BTreeMap<String, Value>,
    /// The servers that are switched off, also those of other places.
    pub(crate) disabled: BTreeSet<String>,
}

impl ConfiguredServers {
    pub(crate) fn read(state: &ClientState) -> Result<ConfiguredServers, ClientStateError> {
        state.read(FILE)
    }
}

/// Why the servers are not changed.
#[derive(Debug, thiserror::Error)]
enum McpConfigError {
    #[error("MCP server '{0}' already exists: update or remove it")]
    Exists(String),
    #[error("MCP server '{0}' not found")]
    Missing(String),
    #[error("there are already {MAX_SERVERS} MCP servers: remove one first")]
    Full,
    #[error(transparent)]
    State(#[from] ClientStateError),
}

pub(super) fn call(connection: &CopilotConnection, method: &str, params: &Value) -> Result<Value, ErrorObject> {
    let state = &connection.server().state;
    let changed = match method {
        "mcp.config.list" => {
            let configured = ConfiguredServers::read(state).map_err(ErrorObject::internal)?;
            return Ok(json!({ "servers": configured.servers }));
        }
        // The file is read whenever it is needed.
        "mcp.config.reload" => Ok(()),
        "mcp.config.add" => add(state, server_params(params)?),
        "mcp.config.update" => update(state, server_params(params)?),
        "mcp.config.remove" => remove(state, required_text(params, "name")?),
        "mcp.config.enable" => toggle(state, &names(params)?, ServerSwitch::On),
        "mcp.config.disable" => toggle(state, &names(params)?, ServerSwitch::Off),
        other => return Err(unhandled(other)),
    };
    changed.map(|()| Value::Null).map_err(ErrorObject::internal)
}

/// A server with its name. A configuration that cannot be used is refused.
fn server_params(params: &Value) -> Result<(String, Value), ErrorObject> {
    let (name, config) = (required_text(params, "name")?, &params["config"]);
    if name.is_empty() {
        return Err(ErrorObject::bad_params("`name` is empty"));
    }
    read_server(config)
        .map_err(|why| ErrorObject::bad_params(format!("the MCP server {name} cannot be used: {why}")))?;
    Ok((name.to_owned(), config.clone()))
}

fn names(params: &Value) -> Result<Vec<String>, ErrorObject> {
    let names = params["names"].as_array().ok_or_else(|| ErrorObject::bad_params("`names` is not a list"))?;
    Ok(names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

fn add(state: &ClientState, (name, config): (String, Value)) -> Result<(), McpConfigError> {
    state.change(FILE, |configured: &mut ConfiguredServers| {
        if configured.servers.contains_key(&name) {
            return Err(McpConfigError::Exists(name));
        }
        if configured.servers.len() >= MAX_SERVERS {
            return Err(McpConfigError::Full);
        }
        configured.servers.insert(name, config);
        Ok(())
    })
}

fn update(state: &ClientState, (name, config): (String, Value)) -> Result<(), McpConfigError> {
    state.change(FILE, |configured: &mut ConfiguredServers| match configured.servers.get_mut(&name) {
        Some(server) => {
            *server = config;
            Ok(())
        }
        None => Err(McpConfigError::Missing(name)),
    })
}

fn remove(state: &ClientState, name: &str) -> Result<(), McpConfigError> {
    state.change(FILE, |configured: &mut ConfiguredServers| {
        configured.disabled.remove(name);
        match configured.servers.remove(name) {
            Some(_removed) => Ok(()),
            None => Err(McpConfigError::Missing(name.to_owned())),
        }
    })
}

/// Whether sessions have a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerSwitch {
    On,
    Off,
}

fn toggle(state: &ClientState, names: &[String], switch: ServerSwitch) -> Result<(), McpConfigError> {
    state.change(FILE, |configured: &mut ConfiguredServers| {
        for name in names {
            match switch {
                ServerSwitch::On => drop(configured.disabled.remove(name)),
                ServerSwitch::Off => drop(configured.disabled.insert(name.clone())),
            }
        }
        Ok(())
    })
}
