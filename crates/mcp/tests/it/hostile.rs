//! Servers that violate the protocol or exceed the limits.

use std::sync::Arc;
use std::time::Duration;

use bosun_mcp::{
    McpError, McpLimits, McpNegotiation, McpOptions, McpResponseFuture, McpRevision, McpServer, McpTransport,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use crate::server::{ScriptedMcpServer, result};

async fn connect(server_script: Arc<ScriptedMcpServer>) -> Arc<McpServer> {
    McpServer::connect("calc", server_script, McpOptions::default()).await.unwrap()
}

fn names(list: &bosun_mcp::McpToolList) -> Vec<&str> {
    list.tools.iter().map(|tool| tool.spec().name.as_ref()).collect()
}

#[tokio::test]
async fn server_is_initialized_and_its_tools_are_listed_in_pages() {
    let server_script = ScriptedMcpServer::new(|message| match message["method"].as_str().unwrap() {
        "initialize" => result(message, json!({ "protocolVersion": "2025-03-26" })),
        "tools/list" if message["params"]["cursor"].is_null() => {
            result(message, json!({ "tools": [{ "name": "a" }], "nextCursor": "2" }))
        }
        "tools/list" => result(message, json!({ "tools": [{ "name": "b" }] })),
        _notification => Some(Ok(Value::Null)),
    });
    let list = connect(server_script.clone()).await.list_tools().await.unwrap();
    assert_eq!(names(&list), ["mcp__calc__a", "mcp__calc__b"]);
    assert_eq!(server_script.methods(), ["initialize", "notifications/initialized", "tools/list", "tools/list"]);
    let messages = server_script.heard();
    assert_eq!(messages[0]["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(messages[1].get("id"), None);
    assert_eq!(messages[3]["params"]["cursor"], "2");
}

#[tokio::test]
async fn endless_lists_are_cut() {
    let server_script = ScriptedMcpServer::new(|message| match message["method"].as_str().unwrap() {
        "initialize" => result(message, json!({ "protocolVersion": "x" })),
        "tools/list" => result(message, json!({ "tools": [], "nextCursor": "more" })),
        _notification => Some(Ok(Value::Null)),
    });
    let list = connect(server_script.clone()).await.list_tools().await.unwrap();
    assert_eq!(list.rejected, ["the list has more than 64 pages; the others are not used"]);
    let many: Vec<Value> = (0..2000).map(|n| json!({ "name": format!("t{n}") })).collect();
    let list = connect(ScriptedMcpServer::with_tools(many.into(), |_| json!({}))).await.list_tools().await.unwrap();
    assert_eq!(list.tools.len(), McpLimits::default().max_tools);
    assert_eq!(list.rejected, ["there are more than 512 tools; the others are not used"]);
}

#[tokio::test]
async fn tools_that_cannot_be_used_are_left_out_with_a_note() {
    let tools = json!([{ "name": "a.b" }, { "name": "a_b" }, 5, { "name": "c", "inputSchema": "no" }]);
    let list = connect(ScriptedMcpServer::with_tools(tools, |_| json!({}))).await.list_tools().await.unwrap();
    assert_eq!(names(&list), ["mcp__calc__a_b"]);
    let left_out =
        ["a tool has no name", "the schema of `c` is not an object", "another tool already has the name of `a_b`"];
    assert_eq!(list.rejected, left_out);
}

#[tokio::test]
async fn invalid_answers_are_errors_with_a_reason() {
    let connect = async |reply: Result<Value, String>| {
        let server_script = ScriptedMcpServer::new(move |_message| Some(reply.clone()));
        McpServer::connect("calc", server_script, McpOptions::default()).await.unwrap_err().to_string()
    };
    let start = "the MCP server `calc` ";
    for (reply, why) in [
        (Ok(json!(7)), "sent an invalid answer to `initialize`: it is not an object"),
        (Ok(json!({ "id": 1, "result": {} })), "it has no `protocolVersion`"),
        (Ok(json!({ "id": 9, "result": {} })), "it is the answer to another request"),
        (Ok(json!({ "id": 1, "error": { "code": -3, "message": "busy" } })), "refused `initialize`: busy (code -3)"),
        (Err("the client is gone".into()), "cannot be reached: the client is gone"),
    ] {
        let message = connect(reply).await;
        assert!(message.starts_with(start) && message.ends_with(why), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn silent_server_times_out_and_is_told() {
    let server_script =
        ScriptedMcpServer::new(|message| (message["method"] == "notifications/cancelled").then_some(Ok(Value::Null)));
    let error = McpServer::connect("calc", server_script.clone(), McpOptions::default()).await.unwrap_err();
    assert!(matches!(error, McpError::TimedOut { method: "initialize", .. }), "{error}");
    assert_eq!(server_script.methods(), ["initialize", "notifications/cancelled"]);
    assert_eq!(server_script.heard()[1]["params"]["requestId"], 1);
}

/// A server that takes six seconds to start. The first request that it reads decides which revision it speaks.
#[derive(Debug)]
struct SlowServer {
    started: Instant,
    /// How much longer the answer to that request takes.
    lag: Duration,
}

impl McpTransport for SlowServer {
    fn send(&self, message: Value) -> McpResponseFuture<'_> {
        Box::pin(async move {
            let is_first = message["method"] == "server/discover";
            sleep_until(self.started + if is_first { self.lag } else { Duration::ZERO }).await;
            let mut answer = match is_first {
                true => json!({ "result": { "supportedVersions": ["2026-07-28"], "capabilities": {} } }),
                false => json!({ "error": { "code": -32022, "message": "the handshake is not accepted" } }),
            };
            answer["id"] = message["id"].clone();
            Ok(answer)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn server_that_starts_slowly_is_used_in_the_revision_that_it_has_accepted() {
    for lag in [0, 1] {
        for _run in 0..20 {
            let started = Instant::now() + Duration::from_secs(6);
            let server = Arc::new(SlowServer { started, lag: Duration::from_secs(lag) });
            let options = McpOptions { negotiation: McpNegotiation::NewestFirst, ..McpOptions::default() };
            let server = McpServer::connect("calc", server, options).await.unwrap();
            assert_eq!(server.revision(), McpRevision::Stateless);
        }
    }
}
