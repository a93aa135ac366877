//! MCP servers that sessions of the real binary use.

mod faults;
mod reference;
mod repository;
mod sdks;
mod sharing;

use std::path::{Path, PathBuf};

use protocol::{Event, ToolResult};
use serde_json::{Value, json};
use testkit::binary::{BinaryFixture, BinaryInvocation};

/// A server's name in the settings of these tests.
const SERVER: &str = "peer";

/// A program of these tests that is a server.
fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/servers").join(name)
}

/// The script of a model that makes these calls of the server's tools, one per turn, and then says `done`.
fn calls_script(calls: &[(&str, Value)]) -> String {
    let mut rules: Vec<Value> = Vec::new();
    for (index, (tool, input)) in calls.iter().enumerate() {
        let name = protocol::mcp_tool_name(SERVER, tool);
        let call = json!({ "id": format!("c{index}"), "tool": name, "input": input });
        rules.push(json!({ "when": { "turn": index + 1 }, "answer": [{ "call": call }] }));
    }
    rules.push(json!({ "answer": [{ "say": "done" }] }));
    json!({ "version": 1, "rules": rules }).to_string()
}

/// A session with this server only.
fn session(fixture: &BinaryFixture, settings: &Value) -> BinaryInvocation {
    let config = json!({ "mcpServers": { SERVER: settings } }).to_string();
    fixture.prompt("go").args(["--quiet", "--strict-mcp-config", "--mcp-config", &config])
}

/// The results of the calls of the newest session, in order.
fn results(fixture: &BinaryFixture) -> Vec<ToolResult> {
    let log = fixture.log(&fixture.newest());
    let results = log.into_iter().filter_map(|envelope| match envelope.entry.event {
        Event::CallAnswered { answer, .. } => Some(answer),
        _other => None,
    });
    results.collect()
}

/// Runs a session whose model calls these tools of a server; returns the texts of the results.
#[track_caller]
fn call(fixture: &BinaryFixture, settings: &Value, calls: &[(&str, Value)]) -> Vec<String> {
    fixture.script(&calls_script(calls));
    let ended = session(fixture, settings).run().expect(0);
    assert_eq!(ended.stdout, "done\n", "{ended:#?}");
    results(fixture).into_iter().map(|result| result.text).collect()
}

/// The whole log of the newest session as text.
fn log_text(fixture: &BinaryFixture) -> String {
    fixture.bosun(["sessions", "export", &fixture.newest(), "--format", "json"]).run().expect(0).stdout
}
