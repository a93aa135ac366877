//! The status of servers as the SDKs read it.

use protocol::McpServerKind;
use protocol::api::{McpServerScope, McpServerStatus, McpServerView};
use serde_json::{Value, json};

/// The states that the SDKs know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerStatus {
    Connected,
    Failed,
    NeedsAuth,
    Pending,
    Disabled,
}

impl ServerStatus {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            ServerStatus::Connected => "connected",
            ServerStatus::Failed => "failed",
            ServerStatus::NeedsAuth => "needs-auth",
            ServerStatus::Pending => "pending",
            ServerStatus::Disabled => "disabled",
        }
    }

    fn of(status: McpServerStatus) -> ServerStatus {
        match status {
            McpServerStatus::Connected => ServerStatus::Connected,
            // One that starts when an agent needs it will be connected.
            McpServerStatus::Ready | McpServerStatus::Pending => ServerStatus::Pending,
            McpServerStatus::NeedsAuth => ServerStatus::NeedsAuth,
            McpServerStatus::Disabled => ServerStatus::Disabled,
            McpServerStatus::Failed | McpServerStatus::Unknown => ServerStatus::Failed,
        }
    }
}

/// A server of the session.
pub(super) fn describe(server: &McpServerView) -> Value {
    let source = if server.agent.is_some() { "agent" } else { scope(server.scope) };
    let mut view = json!({
        "name": server.name, "status": ServerStatus::of(server.status).as_str(),
        "scope": scope(server.scope), "source": source,
    });
    if let Some(error) = &server.error {
        view["error"] = error.as_str().into();
    }
    if let Some(info) = &server.server_info {
        view["serverInfo"] = json!(info);
    }
    if server.transport == Some(McpServerKind::Http) {
        view["config"] = json!({ "type": "http", "url": server.address });
    }
    if let Some(tools) = &server.tools {
        let described = tools.iter().map(|it| {
            let mut described = tool(&it.name, &it.description);
            if it.read_only {
                described["annotations"] = json!({ "readOnly": true });
            }
            described
        });
        view["tools"] = described.collect();
    }
    view
}

/// A tool.
pub(super) fn tool(name: &str, description: &str) -> Value {
    json!({ "name": name, "description": description })
}

fn scope(scope: McpServerScope) -> &'static str {
    match scope {
        McpServerScope::Managed => "managed",
        McpServerScope::Session | McpServerScope::Unknown => "dynamic",
        McpServerScope::Local => "local",
        McpServerScope::Project => "project",
        McpServerScope::User => "user",
        McpServerScope::Plugin => "plugin",
    }
}
