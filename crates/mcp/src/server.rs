//! The connection to one server: initialize, list its tools, call them.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use protocol::{CallId, clip_middle};
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use tools::Tool;

use crate::content::{self, ToolCallResult};
use crate::tool::McpTool;
use crate::wire::{self, McpResponse};
use crate::{McpError, McpOptions, McpToolDescription, McpTransport, tool_name};

/// The proposed protocol version; a server may answer with an older one.
pub const PROTOCOL_VERSION: &str = "2025-11-25";

/// Maximum bytes of a transport's error message.
const MAX_ERROR_BYTES: usize = 500;

/// An initialized server.
#[derive(Debug)]
pub struct McpServer {
    name: String,
    transport: Arc<dyn McpTransport>,
    options: McpOptions,
    next_id: AtomicU64,
}

/// The tools of a server.
#[derive(Debug)]
pub struct McpToolList {
    /// Its tools, each under a unique name.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Why some of its tools cannot be used.
    pub rejected: Vec<String>,
}

impl McpServer {
    /// Initializes the connection to a server.
    pub async fn connect(
        name: &str,
        transport: Arc<dyn McpTransport>,
        options: McpOptions,
    ) -> Result<Arc<McpServer>, McpError> {
        let server = McpServer { name: name.to_owned(), transport, options, next_id: AtomicU64::new(1) };
        let params = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "capabilities": {},
            "clientInfo": { "name": "bosun", "version": env!("CARGO_PKG_VERSION") },
        });
        let timeout = server.options.timeouts.initialize;
        let answer = server.request("initialize", params, timeout).await?;
        if !answer.get("protocolVersion").is_some_and(Value::is_string) {
            return Err(server.malformed("initialize", "it has no `protocolVersion`"));
        }
        server.notify("notifications/initialized", json!({}), timeout).await?;
        Ok(Arc::new(server))
    }

    /// The server's name in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Requests the server's tools.
    pub async fn list_tools(self: &Arc<Self>) -> Result<McpToolList, McpError> {
        let (descriptions, mut rejected) = self.fetch_descriptions().await?;
        let mut names = HashSet::new();
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for description in descriptions {
            let name = tool_name(&self.name, &description.name);
            if names.insert(name.clone()) {
                tools.push(Arc::new(McpTool::new(Arc::clone(self), name, description)));
            } else {
                rejected.push(format!("another tool already has the name of `{}`", description.name));
            }
        }
        Ok(McpToolList { tools, rejected })
    }

    async fn fetch_descriptions(&self) -> Result<(Vec<McpToolDescription>, Vec<String>), McpError> {
        const METHOD: &str = "tools/list";
        let limits = self.options.limits;
        let (mut descriptions, mut rejected) = (Vec::new(), Vec::new());
        let mut cursor: Option<String> = None;
        for _page in 0..limits.max_pages {
            let params = cursor.take().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let page = self.request(METHOD, params, self.options.timeouts.list).await?;
            let Some(entries) = page.get("tools").and_then(Value::as_array) else {
                return Err(self.malformed(METHOD, "it has no `tools` list"));
            };
            for entry in entries {
                if descriptions.len() + rejected.len() == limits.max_tools {
                    rejected.push(format!("there are more than {} tools; the others are not used", limits.max_tools));
                    return Ok((descriptions, rejected));
                }
                match McpToolDescription::read(entry, &limits) {
                    Ok(description) => descriptions.push(description),
                    Err(why) => rejected.push(why),
                }
            }
            match page.get("nextCursor").and_then(Value::as_str) {
                Some(next) if !next.is_empty() => cursor = Some(next.to_owned()),
                Some(_) | None => return Ok((descriptions, rejected)),
            }
        }
        rejected.push(format!("the list has more than {} pages; the others are not used", limits.max_pages));
        Ok((descriptions, rejected))
    }

    /// Calls a tool by the server's name for it. `call` is the model's tool call.
    pub(crate) async fn call(&self, tool: &str, arguments: Value, call: &CallId) -> Result<ToolCallResult, McpError> {
        const METHOD: &str = "tools/call";
        let mut meta = Map::new();
        meta.insert("progressToken".into(), call.to_string().into());
        if let Some(field) = self.options.call_id_field {
            meta.insert(field.into(), call.to_string().into());
        }
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let result = self.request(METHOD, params, self.options.timeouts.call).await?;
        content::read_result(&result, self.options.limits.max_text_bytes).map_err(|what| self.malformed(METHOD, what))
    }

    async fn request(
        &self,
        method: &'static str,
        params: Value,
        time_limit: Duration,
    ) -> Result<Map<String, Value>, McpError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let Ok(sent) = timeout(time_limit, self.transport.send(wire::request(id, method, params))).await else {
            self.cancel_request(id).await;
            return Err(McpError::TimedOut { server: self.name.clone(), method, after: time_limit });
        };
        let answer = sent.map_err(|why| self.unreachable(why))?;
        match wire::read_response(id, answer) {
            McpResponse::Result(result) => Ok(result),
            McpResponse::Error { code, message } => {
                Err(McpError::Refused { server: self.name.clone(), method, code, message })
            }
            McpResponse::Malformed(what) => Err(self.malformed(method, what)),
        }
    }

    async fn notify(&self, method: &'static str, params: Value, time_limit: Duration) -> Result<(), McpError> {
        match timeout(time_limit, self.transport.send(wire::notification(method, params))).await {
            Ok(Ok(_anything)) => Ok(()),
            Ok(Err(why)) => Err(self.unreachable(why)),
            Err(_elapsed) => Err(McpError::TimedOut { server: self.name.clone(), method, after: time_limit }),
        }
    }

    /// Tells the server that the request is cancelled, without waiting long for a server that does not respond.
    async fn cancel_request(&self, id: u64) {
        let params = json!({ "requestId": id, "reason": "timed out" });
        let sent = self.notify("notifications/cancelled", params, Duration::from_secs(1)).await;
        if let Err(error) = sent {
            tracing::debug!(%error, "cannot tell an MCP server that a request is cancelled");
        }
    }

    fn unreachable(&self, why: String) -> McpError {
        McpError::Unreachable { server: self.name.clone(), why: clip_middle(&why, MAX_ERROR_BYTES) }
    }

    fn malformed(&self, method: &'static str, what: impl Into<String>) -> McpError {
        McpError::Malformed { server: self.name.clone(), method, what: what.into() }
    }
}
