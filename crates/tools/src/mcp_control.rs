//! The control of a session's MCP servers, implemented where they are.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use host::Guardian;
use net::Secret;
use protocol::api::{McpServerView, SetMcpServersResult};
use protocol::{Hinted, McpServerSpec};

use crate::{BoxFuture, McpTokenSource};

/// The control of a session's MCP servers while it runs.
pub trait McpServerControl: Send + Sync + fmt::Debug {
    /// All servers, with their states.
    fn servers(&self) -> Vec<McpServerView>;

    /// Lets agents use a server, or no longer. Its connection ends once no call uses it.
    fn set_enabled(&self, server: &str, enabled: bool) -> Result<(), McpControlError>;

    /// Connects to a server, anew if it is connected, and lists its tools.
    fn reconnect<'a>(&'a self, server: &'a str, guardian: &'a Guardian) -> BoxFuture<'a, Result<(), McpControlError>>;

    /// The values of the servers' headers and variables that must not be written anywhere.
    fn secrets(&self) -> Vec<Secret>;

    /// Has this sink told of the secrets that servers get while the session runs, such as renewed tokens.
    fn report_secrets(&self, sink: Arc<dyn SecretSink>);

    /// Has servers without a login get their tokens here, unless they get them elsewhere already.
    fn use_tokens_of(&self, source: Arc<dyn McpTokenSource>);

    /// Replaces the servers that clients added.
    fn set_servers(&self, servers: &BTreeMap<String, McpServerSpec>) -> Result<SetMcpServersResult, McpControlError>;
}

/// Keeps secrets out of everything that is written.
pub trait SecretSink: Send + Sync + fmt::Debug {
    /// A secret that is about to be used.
    fn add_secret(&self, secret: &Secret);
}

/// Why an MCP server is not changed as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpControlError {
    /// There is no such server.
    #[error("the session has no MCP server `{server}`")]
    Unknown {
        /// Its name.
        server: String,
        /// The servers that there are.
        known: Vec<String>,
    },
    /// It is switched off.
    #[error("the MCP server `{0}` is disabled")]
    Disabled(String),
    /// It cannot be used.
    #[error("the MCP server `{server}` cannot be used: {why}")]
    Unusable {
        /// Its name.
        server: String,
        /// Why.
        why: String,
    },
    /// The servers of this session are fixed.
    #[error("no servers can be added to this session")]
    Fixed,
}

impl Hinted for McpControlError {
    fn hint(&self) -> Option<String> {
        match self {
            McpControlError::Unknown { known, .. } if known.is_empty() => Some("it has none".into()),
            McpControlError::Unknown { known, .. } => Some(format!("there are: {}", known.join(", "))),
            McpControlError::Disabled(server) => Some(format!("`/mcp enable {server}` switches it on")),
            McpControlError::Unusable { .. } | McpControlError::Fixed => None,
        }
    }
}
