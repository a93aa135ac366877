//! A tool of a server that the agents of a session share.

use std::sync::Arc;
use std::time::Duration;

use tools::{BoxFuture, RequiredPermission, Tool, ToolContext, ToolDescriptor, ToolError, ToolLimits, ToolOutput};

use super::ServerSlot;
use crate::tool::{self, ConnectedTool};

/// A tool of a server that the agents of a session share.
#[derive(Debug)]
pub(super) struct SharedMcpTool {
    pub(super) spec: ToolDescriptor,
    pub(super) slot: Arc<ServerSlot>,
}

impl SharedMcpTool {
    pub(super) async fn call(&self, input: &str, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let _starting = cx.heartbeat.pause();
        if let Some(session) = &cx.session
            && let Some(answer) = session.long_calls.resume().await
        {
            return answer.map(|text| ToolOutput::text(&text, cx));
        }
        let server_name = &self.slot.settings.name;
        let refused =
            |why: String| ToolError::refused(format!("the MCP server `{server_name}` is not available: {why}"));
        let server = self.slot.refresh(&cx.guardian, Duration::MAX).await.map_err(refused)?;
        let Some(description) = self.slot.known_tool(self.spec.name.as_ref()) else {
            let name = &self.spec.name;
            return Err(ToolError::refused(format!(
                "the MCP server `{server_name}` has no tool `{name}`; search its tools with tool_search"
            )));
        };
        let definition = Some(self.slot.definition.clone());
        ConnectedTool { server, definition, description }.run(input, cx).await
    }
}

impl Tool for SharedMcpTool {
    fn spec(&self) -> &ToolDescriptor {
        &self.spec
    }

    fn required_permissions(&self, input: &str, limits: &ToolLimits) -> Result<Vec<RequiredPermission>, ToolError> {
        tool::required_permissions(input, limits)
    }

    fn run<'a>(&'a self, input: &'a str, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.call(input, cx))
    }
}
