//! A tool of a server, as agents call it.

use std::sync::Arc;

use protocol::clip_middle;
use serde_json::{Value, json};
use tools::{
    BoxFuture, RequiredPermission, Tool, ToolAccess, ToolContext, ToolDescriptor, ToolError, ToolLimits, ToolOutput,
};

use crate::{McpError, McpServer, McpToolDescription};

/// JSON-RPC's code for parameters that do not fit.
const BAD_PARAMS: i64 = -32602;

/// A tool of a server.
#[derive(Debug)]
pub(crate) struct McpTool {
    server: Arc<McpServer>,
    spec: ToolDescriptor,
    description: McpToolDescription,
}

impl McpTool {
    pub(crate) fn new(server: Arc<McpServer>, name: String, listing: McpToolDescription) -> McpTool {
        let spec = ToolDescriptor {
            name: name.into(),
            about: listing.description.clone().into(),
            schema: listing.schema.clone(),
            access: ToolAccess::Other,
        };
        McpTool { server, spec, description: listing }
    }
}

impl McpTool {
    /// What the model is told of a call that has no result. What the server's program says of its own troubles, an
    /// exception say, may hold anything and stays out; that arguments do not fit is for the model to know.
    fn tool_error(&self, error: &McpError) -> ToolError {
        let name = &self.description.name;
        match error {
            McpError::Refused { code: BAD_PARAMS, .. } => ToolError::refused(error.to_string()),
            McpError::TimedOut { .. } | McpError::Malformed { .. } => ToolError::refused(error.to_string()),
            McpError::Refused { server, code, .. } => {
                tracing::warn!(server, tool = name, code, "a tool of an MCP server failed");
                ToolError::refused(format!("the tool {name} of the MCP server `{server}` failed, and gives no details"))
            }
            McpError::Unreachable { server, .. } => {
                tracing::warn!(server, tool = name, "an MCP server cannot be reached");
                ToolError::refused(format!("the MCP server `{server}` cannot be reached"))
            }
        }
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolDescriptor {
        &self.spec
    }

    fn required_permissions(&self, input: &str, limits: &ToolLimits) -> Result<Vec<RequiredPermission>, ToolError> {
        arguments(input, limits.input).map(|_arguments| vec![RequiredPermission::Other])
    }

    fn run<'a>(&'a self, input: &'a str, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let arguments = arguments(input, cx.limits.input)?;
            // It may wait for a person, and the deadline of a call is its limit.
            let _resting = cx.heartbeat.pause();
            let given = self.server.call(&self.description.name, arguments, &cx.identity.call).await;
            let given = given.map_err(|error| self.tool_error(&error))?;
            match given.failed {
                false => Ok(ToolOutput::text(&given.text, cx)),
                true => Err(ToolError::Refused(given.text).clipped(cx.limits.output)),
            }
        })
    }
}

/// The arguments that a model wrote. What they must be is for the server to say.
fn arguments(input: &str, max: usize) -> Result<Value, ToolError> {
    if input.len() > max {
        return Err(ToolError::refused(format!("invalid input: {} bytes, at most {max} are taken", input.len())));
    }
    // Models send nothing at all for a call without arguments.
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
        assert_eq!(arguments(" ", 10).unwrap(), json!({}));
        assert_eq!(arguments(r#"{"a":1}"#, 10).unwrap(), json!({ "a": 1 }));
        for (input, why) in [("[1]", "one JSON object"), ("{", "EOF"), ("{\"a\":\"123456\"}", "at most 10")] {
            assert!(arguments(input, 10).unwrap_err().to_string().contains(why), "{input}");
        }
    }
}
