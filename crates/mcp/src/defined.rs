//! Servers as a session has them, usable or not.

use std::collections::BTreeMap;
use std::fmt;

use protocol::McpServerSpec;
use protocol::api::McpServerScope;

use crate::{McpAddress, McpServerSettings};

/// A server that is defined for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinedMcpServer {
    /// Its name, as agents know it.
    pub name: String,
    /// The kind of place that defines it.
    pub scope: McpServerScope,
    /// That place, for people.
    pub origin: String,
    /// Its program with arguments, or its URL, as written.
    pub address: String,
    /// The definition whose agents alone use it.
    pub agent: Option<String>,
    /// Whether agents may use it.
    pub is_enabled: bool,
    /// Its settings, or why it cannot be used.
    pub settings: Result<McpServerSettings, String>,
}

/// Checks the servers that clients add to a running session, by the same rules as those that it starts with.
pub trait McpServerDefiner: Send + Sync + fmt::Debug {
    /// The servers as the session has them.
    fn define(&self, servers: &BTreeMap<String, McpServerSpec>) -> Vec<DefinedMcpServer>;
}

impl DefinedMcpServer {
    /// The name by which people and clients control it: servers of different agents may have the same name.
    pub fn key(&self) -> String {
        match &self.agent {
            Some(agent) => format!("{agent}/{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// A server without a file that defines it.
impl From<McpServerSettings> for DefinedMcpServer {
    fn from(settings: McpServerSettings) -> DefinedMcpServer {
        let address = match &settings.address {
            McpAddress::Program(program) => program.command.clone(),
            McpAddress::Url { url, .. } => url.clone(),
        };
        DefinedMcpServer {
            name: settings.name.clone(),
            scope: McpServerScope::Session,
            origin: "the session".into(),
            address,
            agent: None,
            is_enabled: true,
            settings: Ok(settings),
        }
    }
}
