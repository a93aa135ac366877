//! MCP: servers whose tools agents can call.
//!
//! A server is an untrusted program. Its answers are limited in size, number and time; an invalid answer is an error
//! message, and never more than that.

#![deny(missing_docs)]

mod content;
mod control;
mod defined;
mod elicitation;
mod error;
mod followed_task;
mod http;
mod limits;
mod link;
mod message;
mod oauth;
mod phase;
mod prompts;
mod remote_task;
mod resources;
mod revision;
mod sampling;
mod server;
mod server_log;
mod servers;
mod session_secrets;
mod settings;
mod stdio;
mod tool;
mod tool_description;
mod transport;
mod wire;

pub use defined::{DefinedMcpServer, McpServerDefiner};
pub use elicitation::McpElicitor;
pub use error::McpError;
pub use limits::{McpLimits, McpOptions, McpTaskSupport, McpTimeouts, SamplingPolicy};
pub use oauth::{
    LOGIN_TIMEOUT, LoginCallback, LoginPrompter, LoginRequest, LoginStatus, LoginStore, LoginStoreError,
    McpOAuthSettings, OAuthError, OAuthGrant, StoredLogins, log_out,
};
pub use revision::{AGENT_MARK, McpNegotiation, McpRevision, PROTOCOL_VERSION};
pub use server::{McpServer, McpToolList};
pub use server_log::ServerLog;
pub use servers::{LoginOutcome, McpLogins, McpServers, McpServersConfig, ServerCheck};
pub use settings::{McpAddress, McpProgram, McpServerSettings};
pub use tool_description::McpToolDescription;
pub use transport::{McpResponseFuture, McpTransport, TransportError};
