//! One server: greeted once, asked for its tools, and called.

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

/// The version of the protocol that is proposed; a server may name an older one.
pub const PROTOCOL_VERSION: &str = "2025-11-25";

/// Most bytes of a server's words about the way to it.
const WORDS: usize = 500;

/// A server that has been greeted.
#[derive(Debug)]
pub struct McpServer {
    name: String,
    transport: Arc<dyn McpTransport>,
    options: McpOptions,
    next: AtomicU64,
}

/// What a server has to offer.
#[derive(Debug)]
pub struct McpToolList {
    /// Its tools, each under a name of its own.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Which of its tools cannot be used, and why.
    pub rejected: Vec<String>,
}

impl McpServer {
    /// Greets a server.
    pub async fn connect(
        name: &str,
        line: Arc<dyn McpTransport>,
        terms: McpOptions,
    ) -> Result<Arc<McpServer>, McpError> {
        let server = McpServer { name: name.to_owned(), transport: line, options: terms, next: AtomicU64::new(1) };
        let hello = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "capabilities": {},
            "clientInfo": { "name": "bosun", "version": env!("CARGO_PKG_VERSION") },
        });
        let greet = server.options.deadlines.initialize;
        let greeted = server.request("initialize", hello, greet).await?;
        if !greeted.get("protocolVersion").is_some_and(Value::is_string) {
            return Err(server.malformed("initialize", "it names no version of the protocol"));
        }
        server.notify("notifications/initialized", json!({}), greet).await?;
        Ok(Arc::new(server))
    }

    /// What people call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Asks for its tools.
    pub async fn list_tools(self: &Arc<Self>) -> Result<McpToolList, McpError> {
        let (listings, mut left_out) = self.fetch_descriptions().await?;
        let mut names = HashSet::new();
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for listing in listings {
            let name = tool_name(&self.name, &listing.name);
            if names.insert(name.clone()) {
                tools.push(Arc::new(McpTool::new(Arc::clone(self), name, listing)));
            } else {
                left_out.push(format!("another tool goes by the name of `{}` already", listing.name));
            }
        }
        Ok(McpToolList { tools, rejected: left_out })
    }

    async fn fetch_descriptions(&self) -> Result<(Vec<McpToolDescription>, Vec<String>), McpError> {
        const METHOD: &str = "tools/list";
        let limits = self.options.limits;
        let (mut listings, mut left_out) = (Vec::new(), Vec::new());
        let mut cursor: Option<String> = None;
        for _page in 0..limits.pages {
            let params = cursor.take().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let page = self.request(METHOD, params, self.options.deadlines.list).await?;
            let Some(entries) = page.get("tools").and_then(Value::as_array) else {
                return Err(self.malformed(METHOD, "it has no list of tools"));
            };
            for entry in entries {
                if listings.len() + left_out.len() == limits.tools {
                    left_out.push(format!("there are more than {} tools; the rest is not used", limits.tools));
                    return Ok((listings, left_out));
                }
                match McpToolDescription::read(entry, &limits) {
                    Ok(listing) => listings.push(listing),
                    Err(why) => left_out.push(why),
                }
            }
            match page.get("nextCursor").and_then(Value::as_str) {
                Some(next) if !next.is_empty() => cursor = Some(next.to_owned()),
                Some(_) | None => return Ok((listings, left_out)),
            }
        }
        left_out.push(format!("the list has more than {} pages; the rest is not used", limits.pages));
        Ok((listings, left_out))
    }

    /// Calls a tool by the server's name for it, for a tool call of the model.
    pub(crate) async fn call(&self, tool: &str, arguments: Value, call: &CallId) -> Result<ToolCallResult, McpError> {
        const METHOD: &str = "tools/call";
        let mut meta = Map::new();
        meta.insert("progressToken".into(), call.to_string().into());
        if let Some(field) = self.options.call_field {
            meta.insert(field.into(), call.to_string().into());
        }
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let result = self.request(METHOD, params, self.options.deadlines.call).await?;
        content::read_result(&result, self.options.limits.text).map_err(|what| self.malformed(METHOD, what))
    }

    async fn request(
        &self,
        method: &'static str,
        params: Value,
        within: Duration,
    ) -> Result<Map<String, Value>, McpError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let Ok(sent) = timeout(within, self.transport.send(wire::request(id, method, params))).await else {
            self.cancel_request(id).await;
            return Err(McpError::TimedOut { server: self.name.clone(), method, after: within });
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

    async fn notify(&self, method: &'static str, params: Value, within: Duration) -> Result<(), McpError> {
        match timeout(within, self.transport.send(wire::notification(method, params))).await {
            Ok(Ok(_anything)) => Ok(()),
            Ok(Err(why)) => Err(self.unreachable(why)),
            Err(_elapsed) => Err(McpError::TimedOut { server: self.name.clone(), method, after: within }),
        }
    }

    /// Says that nobody waits for an answer any more. A server that does not listen is not waited for.
    async fn cancel_request(&self, id: u64) {
        let params = json!({ "requestId": id, "reason": "the time for it is up" });
        let told = self.notify("notifications/cancelled", params, Duration::from_secs(1)).await;
        if let Err(error) = told {
            tracing::debug!(%error, "a server was not told that its answer is not waited for");
        }
    }

    fn unreachable(&self, why: String) -> McpError {
        McpError::Unreachable { server: self.name.clone(), why: clip_middle(&why, WORDS) }
    }

    fn malformed(&self, method: &'static str, what: impl Into<String>) -> McpError {
        McpError::Malformed { server: self.name.clone(), method, what: what.into() }
    }
}
