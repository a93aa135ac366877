//! A scripted server inside the test, valid or invalid as the test needs it.

use std::fmt;
use std::sync::{Arc, Mutex};

use bosun_mcp::{McpResponseFuture, McpTransport};
use serde_json::{Value, json};

/// The reaction to a message: an answer, an error, or `None` to never answer.
pub(crate) type McpTestReply = Option<Result<Value, String>>;

/// A server that records the messages it receives.
pub(crate) struct ScriptedMcpServer {
    reply_to: Box<dyn Fn(&Value) -> McpTestReply + Send + Sync>,
    heard: Mutex<Vec<Value>>,
}

impl ScriptedMcpServer {
    pub(crate) fn new(play: impl Fn(&Value) -> McpTestReply + Send + Sync + 'static) -> Arc<ScriptedMcpServer> {
        Arc::new(ScriptedMcpServer { reply_to: Box::new(play), heard: Mutex::default() })
    }

    /// A server with these tools; `call` returns the result of a call.
    pub(crate) fn with_tools(
        tools: Value,
        call: impl Fn(&Value) -> Value + Send + Sync + 'static,
    ) -> Arc<ScriptedMcpServer> {
        ScriptedMcpServer::new(move |message| match message["method"].as_str().unwrap() {
            "initialize" => result(message, json!({ "protocolVersion": "2024-11-05", "capabilities": {} })),
            "tools/list" => result(message, json!({ "tools": tools })),
            "tools/call" => result(message, call(&message["params"])),
            _notification => Some(Ok(json!({ "jsonrpc": "2.0", "result": {} }))),
        })
    }

    pub(crate) fn heard(&self) -> Vec<Value> {
        self.heard.lock().unwrap().clone()
    }

    pub(crate) fn methods(&self) -> Vec<String> {
        self.heard().iter().map(|message| message["method"].as_str().unwrap().to_owned()).collect()
    }
}

/// An answer to a message, with this result.
pub(crate) fn result(message: &Value, result: Value) -> McpTestReply {
    Some(Ok(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })))
}

impl McpTransport for ScriptedMcpServer {
    fn send(&self, message: Value) -> McpResponseFuture<'_> {
        let reply = (self.reply_to)(&message);
        self.heard.lock().unwrap().push(message);
        Box::pin(async move {
            match reply {
                Some(reply) => Ok(reply?),
                None => std::future::pending().await,
            }
        })
    }
}

impl fmt::Debug for ScriptedMcpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Played")
    }
}
