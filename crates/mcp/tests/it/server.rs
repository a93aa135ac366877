//! A server inside the test, as good or bad as the test wants it.

use std::fmt;
use std::sync::{Arc, Mutex};

use bosun_mcp::{McpResponseFuture, McpTransport};
use serde_json::{Value, json};

/// What a server makes of a message: an answer, why there is none, or nothing for ever.
pub(crate) type Reply = Option<Result<Value, String>>;

/// A server that keeps what it was told.
pub(crate) struct Played {
    play: Box<dyn Fn(&Value) -> Reply + Send + Sync>,
    heard: Mutex<Vec<Value>>,
}

impl Played {
    pub(crate) fn new(play: impl Fn(&Value) -> Reply + Send + Sync + 'static) -> Arc<Played> {
        Arc::new(Played { play: Box::new(play), heard: Mutex::default() })
    }

    /// A server with these tools; calls are answered by `call` with a result.
    pub(crate) fn with(tools: Value, call: impl Fn(&Value) -> Value + Send + Sync + 'static) -> Arc<Played> {
        Played::new(move |message| match message["method"].as_str().unwrap() {
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

/// The answer to a message with this result.
pub(crate) fn result(message: &Value, result: Value) -> Reply {
    Some(Ok(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })))
}

impl McpTransport for Played {
    fn send(&self, message: Value) -> McpResponseFuture<'_> {
        let reply = (self.play)(&message);
        self.heard.lock().unwrap().push(message);
        Box::pin(async move {
            match reply {
                Some(reply) => reply,
                None => std::future::pending().await,
            }
        })
    }
}

impl fmt::Debug for Played {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Played")
    }
}
