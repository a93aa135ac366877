//! MCP servers inside the client.

use protocol::RuleEffect;
use serde_json::{Value, json};
use testkit::session::scenario;

use super::visit::{ClaudeTestClient, ClaudeTestHost};

const SCRIPT: &str = "
version: 1
rules:
  - when: { turn: 1 }
    answer:
      - call: { id: c1, tool: mcp__calc__add, input: { a: 1, b: 2 } }
  - answer: [ { say: '${answer}' } ]
";

/// Initializes the adapter, answering its requests to the client's MCP server.
async fn initialize_with_server(client: &mut ClaudeTestClient, initialize: Value) -> Value {
    let mut request = initialize;
    request["subtype"] = json!("initialize");
    client.send(json!({ "type": "control_request", "request_id": "hello", "request": request })).await;
    loop {
        let frame = client.next().await.unwrap();
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
        client.answer(&frame, json!({ "mcp_response": response })).await;
    }
}

#[tokio::test]
async fn invalid_server_answers_do_not_end_the_adapter() {
    for invalid in [json!("text"), json!([1]), json!(7), json!(null), json!({ "mcp_response": "text" })] {
        let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
        let mut client = ClaudeTestClient::new(&test_host, &[]);
        let request = json!({ "subtype": "initialize", "sdkMcpServers": ["calc"] });
        client.send(json!({ "type": "control_request", "request_id": "hello", "request": request })).await;
        let request_frame = client.next_request("mcp_message").await;
        client.answer(&request_frame, invalid.clone()).await;
        let initialized = client.next_of_type("control_response").await;
        assert_eq!(initialized["response"]["subtype"], "success", "{invalid}");
        let status = client.request(json!({ "subtype": "mcp_status" })).await;
        assert_eq!(status["response"]["mcpServers"][0]["status"], "failed", "{invalid}");
        client.close().await;
    }
}

#[tokio::test]
async fn client_tools_are_called_through_the_client() {
    for (args, initialize) in [
        (vec!["--mcp-config", r#"{"mcpServers":{"calc":{"type":"sdk","name":"calc"}}}"#], json!({})),
        (vec![], json!({ "sdkMcpServers": ["calc"] })),
    ] {
        let test_host = ClaudeTestHost::new(scenario().script(SCRIPT).rule(RuleEffect::Allow, "mcp__calc__add"));
        let mut client = ClaudeTestClient::new(&test_host, &args);
        assert_eq!(initialize_with_server(&mut client, initialize).await["subtype"], "success");
        client.prompt("add").await;
        let init = client.next_matching(|frame| frame["subtype"] == "init").await;
        assert_eq!(init["mcp_servers"], json!([{ "name": "calc", "status": "connected" }]));
        assert!(init["tools"].as_array().unwrap().contains(&json!("mcp__calc__add")));
        let call = client.next_request("mcp_message").await;
        let message = &call["request"]["message"];
        assert_eq!((&message["method"], &message["params"]["name"]), (&json!("tools/call"), &json!("add")));
        assert_eq!(message["params"]["_meta"]["claudecode/toolUseId"], "c1");
        let result = json!({ "content": [{ "type": "text", "text": "the sum is 3" }] });
        let response = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        client.answer(&call, json!({ "mcp_response": response })).await;
        assert_eq!(client.next_of_type("result").await["result"], "the sum is 3");
    }
}

#[tokio::test]
async fn unsupported_servers_are_reported_as_failed() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let config = r#"{"mcpServers":{"db":{"command":"db"},"web":{"type":"http","url":"http://localhost"}}}"#;
    let mut client = ClaudeTestClient::initialized(&test_host, &["--mcp-config", config], json!({})).await;
    let status = client.request(json!({ "subtype": "mcp_status" })).await["response"]["mcpServers"].clone();
    for server in status.as_array().unwrap() {
        assert_eq!(server["status"], "failed");
        assert!(server["error"].as_str().unwrap().contains("not supported yet"), "{server}");
    }
    assert_eq!(status.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn invalid_server_only_loses_its_own_tools() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::new(&test_host, &[]);
    let initialize = json!({ "subtype": "initialize", "sdkMcpServers": ["calc"] });
    client.send(json!({ "type": "control_request", "request_id": "hello", "request": initialize })).await;
    let request_frame = client.next_request("mcp_message").await;
    client.answer(&request_frame, json!({ "mcp_response": [] })).await;
    client.next_of_type("control_response").await;
    client.prompt("add").await;
    let init = client.next_matching(|frame| frame["subtype"] == "init").await;
    assert_eq!(init["mcp_servers"], json!([{ "name": "calc", "status": "failed" }]));
    assert!(client.next_of_type("result").await["result"].as_str().unwrap().contains("There is no tool"));
}
