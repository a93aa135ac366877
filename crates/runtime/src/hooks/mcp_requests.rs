//! Hooks on calls that are about to be sent to an MCP server.

use std::sync::Arc;

use hooks::{HookEventData, McpRequestMeta, McpToolUse};
use protocol::{HookEvent, mcp_tool_name};
use serde_json::Value;
use tools::{BoxFuture, RequestMeta, RequestMetaSource, ToolError};

use super::run_hooks;
use crate::call_waits::Caller;
use crate::session_context::SessionContext;

/// What servers get with the calls of an agent, as its hooks say.
#[derive(Debug)]
pub(crate) struct HookedRequestMeta {
    pub(crate) context: Arc<SessionContext>,
    pub(crate) caller: Caller,
}

impl RequestMetaSource for HookedRequestMeta {
    fn meta_for<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        arguments: &'a Value,
    ) -> BoxFuture<'a, Result<RequestMeta, ToolError>> {
        Box::pin(async move {
            let run = self.caller.run;
            if !self.context.may_have_hook_for(run.task, HookEvent::PreMcpToolCall) {
                return Ok(RequestMeta::Standard);
            }
            let call = McpToolUse {
                id: self.caller.call.clone(),
                tool: mcp_tool_name(server, tool),
                server: server.to_owned(),
                server_tool: tool.to_owned(),
                arguments: arguments.clone(),
            };
            let verdict = run_hooks(&self.context, run, HookEventData::PreMcp(call)).await;
            if let Some(reason) = verdict.denial_reason() {
                return Err(ToolError::refused(format!("A hook denied this call of `{server}`: {reason}")));
            }
            Ok(match verdict.mcp_meta {
                None => RequestMeta::Standard,
                Some(McpRequestMeta::Replaced(meta)) => RequestMeta::With(meta),
                Some(McpRequestMeta::Omitted) => RequestMeta::Nothing,
            })
        })
    }
}
