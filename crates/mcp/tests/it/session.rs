//! Tools of a server, called by the model of a session.

use std::sync::Arc;

use bosun_mcp::{McpOptions, McpServer};
use protocol::RuleEffect;
use serde_json::{Value, json};
use testkit::session::scenario;
use tools::Tool;

use crate::server::ScriptedMcpServer;

const ADDS: &str = r#"
version: 1
about: Adds two numbers
rules:
  - when: { turn: 1 }
    answer:
      - call: { id: c1, tool: mcp__calc__add, input: { a: 1, b: 2 } }
  - answer:
      - say: "${answer}"
"#;

async fn tools(server_script: Arc<ScriptedMcpServer>) -> Vec<Arc<dyn Tool>> {
    let options = McpOptions { call_id_field: Some("test/call"), ..McpOptions::default() };
    let server = McpServer::connect("calc", server_script, options).await.unwrap();
    server.list_tools().await.unwrap().tools
}

fn sum(params: &Value) -> Value {
    let sum = params["arguments"]["a"].as_i64().unwrap() + params["arguments"]["b"].as_i64().unwrap();
    json!({ "content": [{ "type": "text", "text": format!("the sum is {sum}") }] })
}

#[tokio::test]
async fn model_calls_a_tool_of_a_server() {
    let server_script = ScriptedMcpServer::with_tools(json!([{ "name": "add", "description": "Adds." }]), sum);
    let run = scenario()
        .script(ADDS)
        .rule(RuleEffect::Allow, "mcp__calc__add")
        .guest_tools(tools(server_script.clone()).await)
        .prompt("add")
        .run()
        .await;
    assert_eq!(run.text(), "the sum is 3");
    let call = server_script.heard().pop().unwrap();
    assert_eq!(call["params"]["name"], "add");
    assert_eq!(call["params"]["_meta"], json!({ "progressToken": "c1", "test/call": "c1" }));
}

#[tokio::test]
async fn a_tool_of_a_server_is_not_run_without_permission() {
    let server_script = ScriptedMcpServer::with_tools(json!([{ "name": "add" }]), sum);
    let run = scenario()
        .script(ADDS)
        .rule(RuleEffect::Deny, "mcp__calc__add")
        .guest_tools(tools(server_script.clone()).await)
        .prompt("add")
        .run()
        .await;
    assert!(!run.text().contains("sum"), "{}", run.text());
    assert_eq!(server_script.methods().last().unwrap(), "tools/list");
}

#[tokio::test]
async fn tool_errors_reach_the_model() {
    for (result, expected) in [
        (json!({ "isError": true, "content": [{ "type": "text", "text": "too big" }] }), "too big"),
        (json!({ "content": 5 }), "its content is not a list"),
    ] {
        let server_script = ScriptedMcpServer::with_tools(json!([{ "name": "add" }]), move |_params| result.clone());
        let tools = tools(server_script).await;
        let run = scenario().script(ADDS).allow_all().guest_tools(tools).prompt("add").run().await;
        assert!(run.text().contains(expected), "{}", run.text());
    }
}
