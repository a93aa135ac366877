//! A server's tool, as agents call it.

use std::sync::Arc;

use protocol::clip_middle;
use serde_json::{Value, json};
use tools::{
    BoxFuture, RequiredPermission, Tool, ToolAccess, ToolContext, ToolDescriptor, ToolError, ToolLimits, ToolOutput,
};

use crate::server::CallOptions;
use crate::{McpError, McpServer, McpToolDescription};

/// JSON-RPC's code for invalid parameters.
const BAD_PARAMS: i64 = -32602;

/// A server's tool.
#[derive(Debug)]
pub(crate) struct McpTool {
    server: Arc<McpServer>,
    spec: ToolDescriptor,
    description: McpToolDescription,
}

impl McpTool {
    pub(crate) fn new(server: Arc<McpServer>, name: String, description: McpToolDescription) -> McpTool {
        McpTool { server, spec: descriptor(name, &description), description }
    }
}

/// A server's tool as a model sees it.
pub(crate) fn descriptor(name: String, description: &McpToolDescription) -> ToolDescriptor {
    ToolDescriptor {
        name: name.into(),
        description: description.description.clone().into(),
        schema: description.schema.clone(),
        access: ToolAccess::Other,
    }
}

/// The permissions that a call of a server's tool needs.
pub(crate) fn required_permissions(input: &str, limits: &ToolLimits) -> Result<Vec<RequiredPermission>, ToolError> {
    parse_arguments(input, limits.input_bytes).map(|_arguments| vec![RequiredPermission::Other])
}

/// Calls a tool of a server for a model.
pub(crate) async fn run(
    server: &McpServer,
    tool: &McpToolDescription,
    input: &str,
    cx: &ToolContext,
    options: CallOptions,
) -> Result<ToolOutput, ToolError> {
    let arguments = parse_arguments(input, cx.limits.input_bytes)?;
    // The tool may wait for a person; only the call's own timeout limits it.
    let _paused = cx.heartbeat.pause();
    let result = server.call(tool, arguments, &cx.identity.call, options).await;
    let result = result.map_err(|error| tool_error(&tool.name, &error))?;
    match result.failed {
        false => Ok(ToolOutput::text(&result.text, cx)),
        true => Err(ToolError::Refused(result.text).clipped(cx.limits.output_bytes)),
    }
}

/// The error that the model gets for a failed call. The server's own error text, such as an exception, may contain
/// anything and is left out, unless the arguments were invalid: the model must know that.
fn tool_error(tool: &str, error: &McpError) -> ToolError {
    match error {
        McpError::Refused { code: BAD_PARAMS, .. }
        | McpError::TimedOut { .. }
        | McpError::Unreachable { .. }
        | McpError::Malformed { .. }
        | McpError::TaskLost { .. }
        | McpError::TaskCancelled { .. } => ToolError::refused(error.to_string()),
        McpError::Refused { server, code, .. } => {
            tracing::warn!(server, tool, code, "an MCP server's tool failed");
            ToolError::refused(format!("the tool {tool} of the MCP server `{server}` failed without details"))
        }
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolDescriptor {
        &self.spec
    }

    fn required_permissions(&self, input: &str, limits: &ToolLimits) -> Result<Vec<RequiredPermission>, ToolError> {
        required_permissions(input, limits)
    }

    fn run<'a>(&'a self, input: &'a str, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(run(&self.server, &self.description, input, cx, CallOptions::default()))
    }
}

/// Parses the model's arguments. The server checks them against its schema.
fn parse_arguments(input: &str, max: usize) -> Result<Value, ToolError> {
    if input.len() > max {
        return Err(ToolError::refused(format!("invalid input: {} bytes, at most {max} are allowed", input.len())));
    }
    // Models send an empty text for a call without arguments.
    if input.trim_ascii().is_empty() {
        return Ok(json!({}));
    }
    match serde_json::from_str(input) {
        Ok(Value::Object(fields)) => Ok(Value::Object(fields)),
        Ok(_other) => Err(ToolError::refused("invalid input: it must be one JSON object")),
        Err(error) => {
            let why = clip_middle(&error.to_string(), 300);
            Err(ToolError::refused(format!("invalid input: it must be one JSON object: {why}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_one_object() {
        assert_eq!(parse_arguments(" ", 10).unwrap(), json!({}));
        assert_eq!(parse_arguments(r#"{"a":1}"#, 10).unwrap(), json!({ "a": 1 }));
        for (input, why) in [("[1]", "one JSON object"), ("{", "EOF"), ("{\"a\":\"123456\"}", "at most 10")] {
            assert!(parse_arguments(input, 10).unwrap_err().to_string().contains(why), "{input}");
        }
    }
}
