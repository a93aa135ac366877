//! MCP servers inside the client.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp::{
    DefinedMcpServer, McpAddress, McpProgram, McpServerDefiner, McpServerSettings, McpServers, McpServersConfig,
};
use protocol::{McpServerSpec, RuleEffect};
use serde_json::{Value, json};
use testkit::mcp::ScriptedMcpProgram;
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
    request_with_server(client, request).await
}

/// Makes a request, answering the adapter's requests to the client's MCP server until it is answered.
async fn request_with_server(client: &mut ClaudeTestClient, request: Value) -> Value {
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
        answer_call(&mut client).await;
        assert_eq!(client.next_of_type("result").await["result"], "the sum is 3");
    }
}

/// Answers the call of the client's server.
async fn answer_call(client: &mut ClaudeTestClient) {
    let call = client.next_request("mcp_message").await;
    let message = &call["request"]["message"];
    assert_eq!((&message["method"], &message["params"]["name"]), (&json!("tools/call"), &json!("add")));
    assert_eq!(message["params"]["_meta"]["claudecode/toolUseId"], "c1");
    let result = json!({ "content": [{ "type": "text", "text": "the sum is 3" }] });
    let response = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    client.answer(&call, json!({ "mcp_response": response })).await;
}

/// Lets clients replace the servers outside of them; these tests name none.
#[derive(Debug)]
struct NoServers;

impl McpServerDefiner for NoServers {
    fn define(&self, _servers: &BTreeMap<String, McpServerSpec>) -> Vec<DefinedMcpServer> {
        Vec::new()
    }
}

#[tokio::test]
async fn a_server_inside_the_client_is_added_and_removed_while_the_session_runs() {
    let config = McpServersConfig { definer: Some(Arc::new(NoServers)), ..McpServersConfig::default() };
    let servers = Arc::new(McpServers::new(config));
    let scenario = scenario().script(SCRIPT).rule(RuleEffect::Allow, "mcp__calc__add").tool_catalog(servers);
    let test_host = ClaudeTestHost::new(scenario);
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
    let add = json!({ "subtype": "mcp_set_servers", "servers": { "calc": { "type": "sdk", "name": "calc" } } });
    let added = request_with_server(&mut client, add).await;
    assert_eq!(added["response"], json!({ "added": ["calc"], "removed": [], "errors": {} }));
    client.prompt("add").await;
    answer_call(&mut client).await;
    assert_eq!(client.next_of_type("result").await["result"], "the sum is 3");
    let removed = client.request(json!({ "subtype": "mcp_set_servers", "servers": {} })).await;
    assert_eq!(removed["response"], json!({ "added": [], "removed": ["calc"], "errors": {} }));
    let status = client.request(json!({ "subtype": "mcp_status" })).await;
    assert_eq!(status["response"]["mcpServers"], json!([]));
    client.close().await;
}

/// The servers that a session's settings would make of a client's configuration.
fn catalog(servers: Vec<DefinedMcpServer>) -> Arc<McpServers> {
    let env = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    Arc::new(McpServers::new(McpServersConfig { servers, env, ..McpServersConfig::default() }))
}

fn program(server: &ScriptedMcpProgram) -> DefinedMcpServer {
    let (command, args) = server.command();
    let program = McpProgram { command, args, env: Vec::new(), cwd: server.folder(), pinned: Vec::new() };
    DefinedMcpServer::from(McpServerSettings {
        name: "calc".into(),
        address: McpAddress::Program(program),
        start_timeout: McpServerSettings::START_TIMEOUT,
        call_timeout: McpServerSettings::CALL_TIMEOUT,
        task_timeout: McpServerSettings::TASK_TIMEOUT,
        tools: Some(vec!["add".into()]),
        denied_tools: Vec::new(),
        revision: None,
        sampling: false,
    })
}

#[tokio::test]
async fn programs_are_connected_before_the_first_turn_and_controlled_by_the_client() {
    let server = ScriptedMcpProgram::new(json!({}));
    let broken = DefinedMcpServer {
        name: "broken".into(),
        settings: Err("a managed file denies it".into()),
        ..program(&server)
    };
    let servers = catalog(vec![program(&server), broken]);
    let scenario = scenario().script(SCRIPT).rule(RuleEffect::Allow, "mcp__calc").tool_catalog(servers);
    let test_host = ClaudeTestHost::new(scenario);
    let config = r#"{"mcpServers":{"calc":{"command":"calc"},"bad":{"command":7}}}"#;
    let mut client = ClaudeTestClient::initialized(&test_host, &["--mcp-config", config], json!({})).await;
    let options = test_host.opened_with.lock().unwrap()[0].clone();
    assert_eq!(options.mcp_servers["calc"].command.as_deref(), Some("calc"));
    client.prompt("add").await;
    let init = client.next_matching(|frame| frame["subtype"] == "init").await;
    let states = |servers: &Value| -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        servers.as_array().unwrap().iter().map(|it| (text(&it["name"]), text(&it["status"]))).collect()
    };
    let state = |name: &str, status: &str| (name.to_owned(), status.to_owned());
    let expected = [state("bad", "failed"), state("broken", "failed"), state("calc", "connected")];
    assert_eq!(states(&init["mcp_servers"]), expected);
    assert!(init["tools"].as_array().unwrap().contains(&json!("mcp__calc__add")));
    assert_eq!(client.next_of_type("result").await["result"], "the sum is 3");

    let status = async |client: &mut ClaudeTestClient| {
        client.request(json!({ "subtype": "mcp_status" })).await["response"]["mcpServers"].clone()
    };
    let calc = status(&mut client).await[2].clone();
    assert_eq!((&calc["serverInfo"]["name"], &calc["tools"][0]["name"]), (&json!("scripted"), &json!("add")));
    assert_eq!((&calc["scope"], &calc["error"]), (&json!("dynamic"), &Value::Null));
    let off = json!({ "subtype": "mcp_toggle", "serverName": "calc", "enabled": false });
    assert_eq!(client.request(off).await["subtype"], "success");
    assert_eq!(status(&mut client).await[2]["status"], "disabled");
    let reconnect = json!({ "subtype": "mcp_reconnect", "serverName": "calc" });
    let refused = client.request(reconnect.clone()).await;
    assert!(refused["error"].as_str().unwrap().contains("is disabled"), "{refused}");
    let on = json!({ "subtype": "mcp_toggle", "serverName": "calc", "enabled": true });
    assert_eq!(client.request(on).await["subtype"], "success");
    assert_eq!(client.request(reconnect).await["subtype"], "success");
    assert_eq!(status(&mut client).await[2]["status"], "connected");
    for wrong in [
        json!({ "subtype": "mcp_toggle", "serverName": "nix", "enabled": true }),
        json!({ "subtype": "mcp_toggle", "serverName": "calc" }),
        json!({ "subtype": "mcp_reconnect" }),
        json!({ "subtype": "mcp_reconnect", "serverName": "broken" }),
        json!({ "subtype": "mcp_set_servers", "servers": [] }),
        json!({ "subtype": "mcp_set_servers", "servers": {} }),
    ] {
        assert_eq!(client.request(wrong.clone()).await["subtype"], "error", "{wrong}");
    }
    client.close().await;
}

#[tokio::test]
async fn a_server_inside_the_client_is_switched_off() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT).rule(RuleEffect::Allow, "mcp__calc__add"));
    let mut client = ClaudeTestClient::new(&test_host, &[]);
    initialize_with_server(&mut client, json!({ "sdkMcpServers": ["calc"] })).await;
    let off = json!({ "subtype": "mcp_toggle", "serverName": "calc", "enabled": false });
    assert_eq!(client.request(off).await["subtype"], "success");
    client.prompt("add").await;
    let init = client.next_matching(|frame| frame["subtype"] == "init").await;
    assert_eq!(init["mcp_servers"], json!([{ "name": "calc", "status": "disabled" }]));
    assert_eq!(client.next_of_type("result").await["result"], "the MCP server `calc` is disabled");
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

const WRITES: &str = "
version: 1
rules:
  - when: { answered: { tool: create, status: denied } }
    answer: [ { say: I was not let. } ]
  - when: { answered: { tool: create } }
    answer: [ { say: Done. } ]
  - answer:
      - call: { id: c1, tool: create, input: { path: a.txt, content: one } }
";

#[tokio::test]
async fn a_tool_of_the_client_decides_about_calls() {
    let decisions = [
        (json!({ "behavior": "allow", "updatedInput": { "file_path": "a.txt", "content": "two" } }).to_string(), "two"),
        (json!({ "behavior": "deny", "message": "not today" }).to_string(), ""),
        ("perhaps".to_owned(), ""),
    ];
    for (decision, written) in decisions {
        let test_host = ClaudeTestHost::new(scenario().script(WRITES));
        let mut client = ClaudeTestClient::new(&test_host, &["--permission-prompt-tool", "mcp__calc__add"]);
        initialize_with_server(&mut client, json!({ "sdkMcpServers": ["calc"] })).await;
        client.prompt("go").await;
        let call = client.next_request("mcp_message").await;
        let message = &call["request"]["message"];
        assert_eq!((&message["method"], &message["params"]["name"]), (&json!("tools/call"), &json!("add")));
        let asked = &message["params"]["arguments"];
        assert_eq!((&asked["tool_name"], &asked["tool_use_id"]), (&json!("Write"), &json!("c1")));
        let result = json!({ "content": [{ "type": "text", "text": decision }] });
        let response = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        client.answer(&call, json!({ "mcp_response": response })).await;
        client.next_of_type("result").await;
        client.close().await;
        assert_eq!(test_host.fixture.file("a.txt").unwrap_or_default(), written, "{decision}");
    }
}
