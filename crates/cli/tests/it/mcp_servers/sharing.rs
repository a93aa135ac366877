//! Many agents of one session that use one server, and a session that uses none.

use std::fmt::Write as _;

use serde_json::json;
use testkit::binary::BinaryInvocation;
use testkit::mcp::ScriptedMcpProgram;
use testkit::server::ModelServer;

use crate::fixture;
use crate::scripts::HELLO;

const AGENTS: usize = 20;

/// A root that starts this many agents at once; each calls the server's tool once.
fn script() -> String {
    let mut text = "version: 1
rules:
  - when: { prompt: Add it, turn: 1 }
    answer: [ { call: { tool: mcp__peer__add, input: { a: 1, b: 1 } } } ]
  - when: { prompt: Add it }
    answer: [ { say: '${answer}' } ]
  - when: { turn: 2.. }
    answer: [ { say: done } ]
  - answer:
"
    .to_owned();
    for number in 1..=AGENTS {
        let input = format!("description: Adds, prompt: Add it, agent_type: general-purpose, name: w{number}");
        writeln!(text, "      - call: {{ tool: task, input: {{ {input} }} }}").unwrap();
    }
    text
}

#[test]
fn twenty_agents_of_a_session_share_one_process() {
    let (fixture, server) = (fixture(), ScriptedMcpProgram::new(json!({})));
    let (command, args) = server.command();
    let config = json!({ "mcpServers": { "peer": { "command": command, "args": args } } }).to_string();
    fixture.script(&script());
    let run = fixture.prompt("go").args(["--quiet", "--strict-mcp-config", "--mcp-config", &config]);
    assert_eq!(run.run().expect(0).stdout, "done\n");
    let results = super::results(&fixture);
    let sums = results.iter().filter(|result| result.text == "the sum is 2").count();
    assert_eq!((sums, server.heard("tools/call").len(), server.pids().len()), (AGENTS, AGENTS, 1), "{results:#?}");
}

/// A session without servers sends what it would send if there were no MCP: its request does not depend on servers that
/// are disabled, and differs from that of a session with a server.
#[test]
fn session_without_servers_sends_nothing_about_them() {
    let model = ModelServer::script(HELLO).key(BinaryInvocation::KEY).start();
    let first_request = |config: Option<&str>| {
        let fixture = fixture();
        let mut run = fixture.prompt_over(&model, "anthropic/test-model", "hi");
        if let Some(config) = config {
            run = run.args(["--mcp-config", config]);
        }
        run.run().expect(0);
        let folder = fixture.folder().canonicalize().unwrap().display().to_string();
        String::from_utf8(model.requests().pop().unwrap().body).unwrap().replace(&folder, "FOLDER")
    };
    let without = first_request(None);
    assert!(!without.to_lowercase().contains("mcp"), "{without}");
    let disabled = r#"{ "mcpServers": { "peer": { "command": "false", "disabled": true } } }"#;
    assert_eq!(first_request(Some(disabled)), without);
    assert_eq!(first_request(Some(r#"{ "mcpServers": {} }"#)), without);
    let with = first_request(Some(r#"{ "mcpServers": { "peer": { "command": "false" } } }"#));
    assert!(with.contains("peer") && with.len() < without.len() + 400, "{with}");
}
