//! Servers as a session has them, usable or not.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use protocol::McpServerSpec;
use protocol::api::McpServerScope;
use ring::digest::{SHA256, digest};

use crate::{McpAddress, McpServerSettings};

/// How many bytes of a digest tell the servers of a session apart.
const DIGEST_BYTES: usize = 12;

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
    /// A digest that tells it from other servers of its name, at another address or of another agent.
    pub(crate) fn digest(&self) -> String {
        let texts = [self.agent.as_deref().unwrap_or_default(), &self.name, &self.address];
        let digest = digest(&SHA256, texts.join("\0").as_bytes());
        BASE64_URL_SAFE_NO_PAD.encode(&digest.as_ref()[..DIGEST_BYTES])
    }

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
