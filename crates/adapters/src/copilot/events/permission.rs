//! Permission requests in the SDK's format: a few kinds, each with fields that clients require.

use protocol::{CallId, ToolClass, find_tool, tool_name};
use serde_json::{Map, Value, json};

use super::turns::{arguments, client_tool_name};

/// A permission request in the SDK's format.
pub(crate) fn permission_request(call: &CallId, tool: &str, input: &str, reason: &str, offers_rule: bool) -> Value {
    let fields: Map<String, Value> = serde_json::from_str(input).unwrap_or_default();
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let class = match find_tool(tool) {
        // It runs a command, too.
        Some(known) if known.name == tool_name::UNTIL => ToolClass::Shell,
        Some(known) => known.class,
        None => ToolClass::Other,
    };
    let mut request = match class {
        ToolClass::Shell => json!({
            "kind": "shell",
            "fullCommandText": text("command"),
            "intention": reason,
            "commands": [{ "identifier": first_word(text("command")), "readOnly": false }],
            "possiblePaths": [],
            "possibleUrls": [],
            "hasWriteFileRedirection": text("command").contains('>'),
            "canOfferSessionApproval": offers_rule,
        }),
        ToolClass::Edit => json!({
            "kind": "write",
            "intention": reason,
            "fileName": text("path"),
            "diff": if tool == tool_name::APPLY_PATCH { text("patch") } else { text("new") },
            "newFileContents": text("content"),
            "canOfferSessionApproval": offers_rule,
        }),
        ToolClass::Read => json!({ "kind": "read", "intention": reason, "path": text("path") }),
        ToolClass::Fetch => json!({ "kind": "url", "intention": reason, "url": text("url") }),
        ToolClass::Agent | ToolClass::Session | ToolClass::Other => match mcp_tool(tool) {
            Some((server, name)) => json!({
                "kind": "mcp",
                "serverName": server,
                "toolName": name,
                "toolTitle": name,
                "args": arguments(tool, input),
                "readOnly": false,
            }),
            None => json!({
                "kind": "custom-tool",
                "toolName": client_tool_name(tool),
                "toolDescription": reason,
                "args": arguments(tool, input),
            }),
        },
    };
    request["toolCallId"] = call.to_string().into();
    request
}

/// The server and the name of an MCP tool.
pub(super) fn mcp_tool(tool: &str) -> Option<(&str, &str)> {
    tool.strip_prefix("mcp__")?.split_once("__")
}

fn first_word(command: &str) -> &str {
    command.split_whitespace().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_the_fields_that_clients_require() {
        let call = CallId("c1".into());
        let fields = |tool: &str, input: &str| permission_request(&call, tool, input, "needs approval", true);
        let shell = fields("shell", r#"{"command":"rm -r x > y"}"#);
        assert_eq!((&shell["kind"], &shell["hasWriteFileRedirection"]), (&json!("shell"), &json!(true)));
        assert_eq!(shell["commands"], json!([{ "identifier": "rm", "readOnly": false }]));
        assert_eq!(fields("until", r#"{"command":"test -e x"}"#)["fullCommandText"], "test -e x");
        assert_eq!(fields("apply_patch", r#"{"patch":"+a"}"#)["diff"], "+a");
        assert_eq!(
            (&fields("grep", "{}")["kind"], &fields("web_fetch", "{}")["kind"]),
            (&json!("read"), &json!("url"))
        );
        assert_eq!(fields("sql", "{}")["kind"], "custom-tool");
        assert_eq!(fields("create", r#"{"path":"a","content":"b"}"#)["fileName"], "a");
        assert_eq!(fields("mcp__git__log", "{}")["serverName"], "git");
        assert_eq!(fields("weather", r#"{"city":"Oslo"}"#)["args"]["city"], "Oslo");
        assert_eq!(fields("weather", "no json")["kind"], "custom-tool");
    }
}
