//! MCP servers inside the client.

use protocol::RuleEffect;
use serde_json::{Value, json};
use testkit::session::scenario;

use super::visit::{Inn, Visit};

const SCRIPT: &str = "
version: 1
rules:
  - when: { turn: 1 }
    answer:
      - call: { id: c1, tool: mcp__calc__add, input: { a: 1, b: 2 } }
  - answer: [ { say: '${answer}' } ]
";

/// Plays the client's server until the adapter answers its hello.
async fn greet(visit: &mut Visit, hello: Value) -> Value {
    let mut request = hello;
    request["subtype"] = json!("initialize");
    visit.say(json!({ "type": "control_request", "request_id": "hello", "request": request })).await;
    loop {
        let frame = visit.next().await.unwrap();
        if frame["type"] == "control_response" {
            return frame["response"].clone();
        }
        assert_eq!(frame["request"]["subtype"], "mcp_message", "{frame}");
        let message = &frame["request"]["message"];
        let result = match message["method"].as_str().unwrap() {
            "initialize" => json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} } }),
            "tools/list" => json!({ "tools": [{ "name": "add", "description": "Adds.", "inputSchema": {} }] }),
            _notification => json!({}),
        };
        let response = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        visit.answer(&frame, json!({ "mcp_response": response })).await;
    }
}

#[tokio::test]
async fn an_answer_of_a_server_that_is_none_is_no_end_of_the_adapter() {
    for odd in [json!("text"), json!([1]), json!(7), json!(null), json!({ "mcp_response": "text" })] {
        let inn = Inn::new(scenario().script(SCRIPT));
        let mut visit = Visit::new(&inn, &[]);
        let request = json!({ "subtype": "initialize", "sdkMcpServers": ["calc"] });
        visit.say(json!({ "type": "control_request", "request_id": "hello", "request": request })).await;
        let asked = visit.asked("mcp_message").await;
        visit.answer(&asked, odd.clone()).await;
        let greeted = visit.until_type("control_response").await;
        assert_eq!(greeted["response"]["subtype"], "success", "{odd}");
        let status = visit.request(json!({ "subtype": "mcp_status" })).await;
        assert_eq!(status["response"]["mcpServers"][0]["status"], "failed", "{odd}");
        visit.close().await;
    }
}

#[tokio::test]
async fn a_tool_of_the_client_is_called_through_it() {
    for (args, hello) in [
        (vec!["--mcp-config", r#"{"mcpServers":{"calc":{"type":"sdk","name":"calc"}}}"#], json!({})),
        (vec![], json!({ "sdkMcpServers": ["calc"] })),
    ] {
        let inn = Inn::new(scenario().script(SCRIPT).rule(RuleEffect::Allow, "mcp__calc__add"));
        let mut visit = Visit::new(&inn, &args);
        assert_eq!(greet(&mut visit, hello).await["subtype"], "success");
        visit.prompt("add").await;
        let init = visit.until(|frame| frame["subtype"] == "init").await;
        assert_eq!(init["mcp_servers"], json!([{ "name": "calc", "status": "connected" }]));
        assert!(init["tools"].as_array().unwrap().contains(&json!("mcp__calc__add")));
        let call = visit.asked("mcp_message").await;
        let message = &call["request"]["message"];
        assert_eq!((&message["method"], &message["params"]["name"]), (&json!("tools/call"), &json!("add")));
        assert_eq!(message["params"]["_meta"]["claudecode/toolUseId"], "c1");
        let result = json!({ "content": [{ "type": "text", "text": "the sum is 3" }] });
        let response = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        visit.answer(&call, json!({ "mcp_response": response })).await;
        assert_eq!(visit.until_type("result").await["result"], "the sum is 3");
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_had_is_told_of() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let config = r#"{"mcpServers":{"db":{"command":"db"},"web":{"type":"http","url":"http://localhost"}}}"#;
    let mut visit = Visit::greeted(&inn, &["--mcp-config", config], json!({})).await;
    let status = visit.request(json!({ "subtype": "mcp_status" })).await["response"]["mcpServers"].clone();
    for server in status.as_array().unwrap() {
        assert_eq!(server["status"], "failed");
        assert!(server["error"].as_str().unwrap().contains("not supported yet"), "{server}");
    }
    assert_eq!(status.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_servers_nonsense_costs_its_tools_and_nothing_else() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::new(&inn, &[]);
    let hello = json!({ "subtype": "initialize", "sdkMcpServers": ["calc"] });
    visit.say(json!({ "type": "control_request", "request_id": "hello", "request": hello })).await;
    let asked = visit.asked("mcp_message").await;
    visit.answer(&asked, json!({ "mcp_response": [] })).await;
    visit.until_type("control_response").await;
    visit.prompt("add").await;
    let init = visit.until(|frame| frame["subtype"] == "init").await;
    assert_eq!(init["mcp_servers"], json!([{ "name": "calc", "status": "failed" }]));
    assert!(visit.until_type("result").await["result"].as_str().unwrap().contains("There is no tool"));
}
