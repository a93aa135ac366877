//! The revisions of the protocol, and what differs between them.

use serde_json::{Map, Value, json};

use crate::McpTaskSupport;

/// The newest revision that begins with `initialize`; a server may answer with an older one.
pub const PROTOCOL_VERSION: &str = "2025-11-25";

/// The revision without a handshake, in which every request says what the client can do.
pub(crate) const STATELESS_VERSION: &str = "2026-07-28";

/// The extension for calls that become tasks.
pub(crate) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The family of revisions that a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpRevision {
    /// 2025-11-25 or older: a session that begins with `initialize`.
    Session,
    /// 2026-07-28: independent requests.
    Stateless,
}

/// Which revisions are offered to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum McpNegotiation {
    /// Only those that begin with `initialize`.
    #[default]
    SessionOnly,
    /// 2026-07-28 first, then the others.
    NewestFirst,
}

impl McpRevision {
    /// The revision's name in headers and metadata.
    pub(crate) fn version(self) -> &'static str {
        match self {
            McpRevision::Session => PROTOCOL_VERSION,
            McpRevision::Stateless => STATELESS_VERSION,
        }
    }
}

/// The client's name and version.
pub(crate) fn client_info() -> Value {
    json!({ "name": "bosun", "version": env!("CARGO_PKG_VERSION") })
}

/// What the client can do for a server. Sampling is left out: a server may not ask a model.
pub(crate) fn client_capabilities(revision: McpRevision, tasks: McpTaskSupport) -> Value {
    match (revision, tasks) {
        (McpRevision::Session, _) => json!({ "roots": {}, "elicitation": {} }),
        (McpRevision::Stateless, McpTaskSupport::Off) => json!({ "elicitation": { "form": {} } }),
        (McpRevision::Stateless, McpTaskSupport::Offered) => {
            json!({ "elicitation": { "form": {} }, "extensions": { TASKS_EXTENSION: {} } })
        }
    }
}

/// Adds what every request of the stateless revision carries.
pub(crate) fn add_stateless_meta(params: &mut Map<String, Value>, tasks: McpTaskSupport) {
    let meta = params.entry("_meta").or_insert_with(|| json!({}));
    let Some(meta) = meta.as_object_mut() else { return };
    meta.insert("io.modelcontextprotocol/protocolVersion".into(), STATELESS_VERSION.into());
    meta.insert("io.modelcontextprotocol/clientInfo".into(), client_info());
    meta.insert(
        "io.modelcontextprotocol/clientCapabilities".into(),
        client_capabilities(McpRevision::Stateless, tasks),
    );
}

/// What a server says about itself when the connection is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerCapabilities {
    /// It reports changes of its list of tools.
    pub(crate) reports_tool_changes: bool,
    /// It runs calls as tasks in the form of 2025-11-25.
    pub(crate) has_session_tasks: bool,
}

impl ServerCapabilities {
    pub(crate) fn read(capabilities: &Value) -> ServerCapabilities {
        ServerCapabilities {
            reports_tool_changes: capabilities["tools"]["listChanged"] == Value::Bool(true),
            has_session_tasks: capabilities["tasks"]["requests"]["tools"]["call"].is_object(),
        }
    }
}
