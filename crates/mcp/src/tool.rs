//! A tool of a server, as agents call it.

use std::sync::Arc;

use protocol::clip_middle;
use serde_json::{Value, json};
use tools::{Access, BoxFuture, Context, Limits, Need, Output, Spec, Tool, ToolError};

use crate::{Listing, McpError, Server};

/// JSON-RPC's code for parameters that do not fit.
const BAD_PARAMS: i64 = -32602;

/// A tool of a server.
#[derive(Debug)]
pub(crate) struct ServerTool {
    server: Arc<Server>,
    spec: Spec,
    listing: Listing,
}

impl ServerTool {
    pub(crate) fn new(server: Arc<Server>, name: String, listing: Listing) -> ServerTool {
        let spec = Spec {
            name: name.into(),
            about: listing.about.clone().into(),
            schema: listing.schema.clone(),
            access: Access::Other,
        };
        ServerTool { server, spec, listing }
    }
}

impl ServerTool {
    /// What the model is told of a call that has no result. What the server's program says of its own troubles, an
    /// exception say, may hold anything and stays out; that arguments do not fit is for the model to know.
    fn broken(&self, error: &McpError) -> ToolError {
        let name = &self.listing.name;
        match error {
            McpError::Refused { code: BAD_PARAMS, .. } => ToolError::refused(error.to_string()),
            McpError::Late { .. } | McpError::Malformed { .. } => ToolError::refused(error.to_string()),
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

impl Tool for ServerTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn needs(&self, input: &str, limits: &Limits) -> Result<Vec<Need>, ToolError> {
        arguments(input, limits.input).map(|_arguments| vec![Need::Other])
    }

    fn run<'a>(&'a self, input: &'a str, cx: &'a Context) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            let arguments = arguments(input, cx.limits.input)?;
            // It may wait for a person, and the deadline of a call is its limit.
            let _resting = cx.pulse.rest();
            let given = self.server.call(&self.listing.name, arguments, &cx.place.call).await;
            let given = given.map_err(|error| self.broken(&error))?;
            match given.failed {
                false => Ok(Output::text(&given.text, cx)),
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
