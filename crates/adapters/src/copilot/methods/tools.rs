//! `session.tools.*`: the tools of the session, as its model sees them.

use protocol::api::{ContextTool, ContextView, Method};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;

/// The methods that are answered here.
pub(crate) const METHODS: [&str; 2] = ["session.tools.getCurrentMetadata", "session.tools.initializeAndValidate"];

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    _params: Value,
) -> Result<Value, ErrorObject> {
    let view: ContextView = session.call(Method::ContextGet, json!({})).await?;
    match method {
        "session.tools.getCurrentMetadata" => {
            Ok(json!({ "tools": view.tools.iter().map(tool_metadata).collect::<Vec<_>>() }))
        }
        // The tools of a session exist from its start, and describing them has checked them.
        "session.tools.initializeAndValidate" => Ok(json!({})),
        other => Err(unhandled(other)),
    }
}

fn tool_metadata(tool: &ContextTool) -> Value {
    let ContextTool { name, description, schema, tokens: _ } = tool;
    let mut metadata = json!({ "name": name, "description": description, "input_schema": schema });
    if let Some((server, tool)) = name.strip_prefix("mcp__").and_then(|name| name.split_once("__")) {
        metadata["mcpServerName"] = server.into();
        metadata["mcpToolName"] = tool.into();
    }
    metadata
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_of_servers_name_their_server() {
        let tool = |name: &str| ContextTool {
            name: name.into(),
            description: "does it".into(),
            schema: json!({ "type": "object" }),
            tokens: 1,
        };
        let metadata = tool_metadata(&tool("mcp__db__query"));
        assert_eq!((&metadata["mcpServerName"], &metadata["mcpToolName"]), (&json!("db"), &json!("query")));
        assert!(tool_metadata(&tool("bash"))["mcpServerName"].is_null());
    }
}
