//! The revisions of the protocol, and what differs between them.

use protocol::api::McpServerIdentity;
use protocol::clip_middle;
use serde_json::{Map, Value, json};

use crate::{McpOptions, McpTaskSupport, SamplingPolicy};

/// The newest revision that begins with `initialize`; a server may answer with an older one.
pub const PROTOCOL_VERSION: &str = "2025-11-25";

/// The revision without a handshake, in which every request says what the client can do.
pub(crate) const STATELESS_VERSION: &str = "2026-07-28";

/// The extension for calls that become tasks.
pub(crate) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// How a client says that it acts for an agent of Bosun. Other programs may have its name.
pub const AGENT_MARK: &str = "dev.bosun/agent";

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
    /// Only this one, as the user says.
    Only(McpRevision),
}

impl McpRevision {
    /// The family of a version that a user may name.
    pub fn of_version(version: &str) -> Option<McpRevision> {
        match version {
            PROTOCOL_VERSION => Some(McpRevision::Session),
            STATELESS_VERSION => Some(McpRevision::Stateless),
            _other => None,
        }
    }
}

/// The client's name and version.
pub(crate) fn client_info() -> Value {
    json!({ "name": "bosun", "version": env!("CARGO_PKG_VERSION") })
}

/// What the client can do for a server.
pub(crate) fn client_capabilities(revision: McpRevision, options: &McpOptions) -> Value {
    let mut capabilities = match (revision, options.tasks) {
        (McpRevision::Session, _) => {
            json!({ "roots": {}, "elicitation": {}, "experimental": { AGENT_MARK: {} } })
        }
        (McpRevision::Stateless, McpTaskSupport::Off) => {
            json!({ "elicitation": { "form": {} }, "extensions": { AGENT_MARK: {} } })
        }
        (McpRevision::Stateless, McpTaskSupport::Offered) => {
            json!({ "elicitation": { "form": {} }, "extensions": { AGENT_MARK: {}, TASKS_EXTENSION: {} } })
        }
    };
    if options.sampling == SamplingPolicy::Allowed {
        capabilities["sampling"] = json!({});
    }
    capabilities
}

/// Adds what every request of the stateless revision carries.
pub(crate) fn add_stateless_meta(params: &mut Map<String, Value>, options: &McpOptions) {
    let meta = params.entry("_meta").or_insert_with(|| json!({}));
    let Some(meta) = meta.as_object_mut() else { return };
    meta.insert("io.modelcontextprotocol/protocolVersion".into(), STATELESS_VERSION.into());
    meta.insert("io.modelcontextprotocol/clientInfo".into(), client_info());
    let capabilities = client_capabilities(McpRevision::Stateless, options);
    meta.insert("io.modelcontextprotocol/clientCapabilities".into(), capabilities);
}

/// Where a server of the stateless revision gives its name and version.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The most bytes of the name or the version that a server gives itself.
const MAX_IDENTITY_BYTES: usize = 200;

/// What a server says about itself when the connection is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerCapabilities {
    /// Its name and version.
    pub(crate) identity: Option<McpServerIdentity>,
    /// It reports changes of its list of tools.
    pub(crate) reports_tool_changes: bool,
    /// It has resources.
    pub(crate) has_resources: bool,
    /// It reports changes of its list of resources.
    pub(crate) reports_resource_changes: bool,
    /// It has prompts.
    pub(crate) has_prompts: bool,
    /// It reports changes of its list of prompts.
    pub(crate) reports_prompt_changes: bool,
    /// It runs calls as tasks in the form of 2025-11-25.
    pub(crate) has_session_tasks: bool,
}

impl ServerCapabilities {
    /// Reads the result of `initialize` or `server/discover`.
    pub(crate) fn read(answer: &Map<String, Value>) -> ServerCapabilities {
        let capabilities = answer.get("capabilities").unwrap_or(&Value::Null);
        let reports = |list: &str| capabilities[list]["listChanged"] == Value::Bool(true);
        ServerCapabilities {
            identity: answer
                .get("serverInfo")
                .or(answer.get("_meta").map(|meta| &meta[SERVER_INFO]))
                .and_then(read_identity),
            reports_tool_changes: reports("tools"),
            has_resources: capabilities["resources"].is_object(),
            reports_resource_changes: reports("resources"),
            has_prompts: capabilities["prompts"].is_object(),
            reports_prompt_changes: reports("prompts"),
            has_session_tasks: capabilities["tasks"]["requests"]["tools"]["call"].is_object(),
        }
    }

    /// Whether it reports changes of any list.
    pub(crate) fn reports_changes(&self) -> bool {
        self.reports_tool_changes || self.reports_resource_changes || self.reports_prompt_changes
    }

    /// The changes to be told of.
    pub(crate) fn subscription(&self) -> Value {
        let wanted = [
            ("toolsListChanged", self.reports_tool_changes),
            ("resourcesListChanged", self.reports_resource_changes),
            ("promptsListChanged", self.reports_prompt_changes),
        ];
        wanted
            .into_iter()
            .filter(|(_, reported)| *reported)
            .map(|(name, _)| (name.to_owned(), Value::Bool(true)))
            .collect()
    }
}

fn read_identity(info: &Value) -> Option<McpServerIdentity> {
    let text = |field: &str| info[field].as_str().map(|text| clip_middle(text, MAX_IDENTITY_BYTES));
    Some(McpServerIdentity { name: text("name")?, version: text("version").unwrap_or_default() })
}
