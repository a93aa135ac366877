//! Servers that fail while a session of the real binary uses them.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::binary::{BinaryFixture, PATIENCE, ProcessSignal, commands_with, peak_memory, within};
use testkit::mcp::ScriptedMcpProgram;

use super::{call, calls_script, results, session};
use crate::fixture;

/// The most memory that the process of a session may use, whatever a server sends: twice what it uses without one.
const MAX_MEMORY_KIB: u64 = 250_000;

fn settings(server: &ScriptedMcpProgram) -> Value {
    let (command, args) = server.command();
    json!({ "command": command, "args": args, "startTimeoutSeconds": 20, "callTimeoutSeconds": 20 })
}

fn add() -> (&'static str, Value) {
    ("add", json!({ "a": 1, "b": 1 }))
}

/// Starts a session whose model calls a tool that does not answer, and then another one; sends the server a signal
/// when it has the call, and returns the texts of the results.
fn interrupt(settings: &Value, server: &ScriptedMcpProgram, signal: ProcessSignal) -> Vec<String> {
    let fixture = fixture();
    fixture.script(&calls_script(&[("hang", json!({})), add()]));
    let running = session(&fixture, settings).start();
    within(PATIENCE, "the server has the call", || !server.heard("tools/call").is_empty());
    signal.send(u32::try_from(server.pids()[0]).unwrap());
    assert_eq!(running.wait().expect(0).stdout, "done\n");
    results(&fixture).into_iter().map(|result| result.text).collect()
}

#[test]
fn call_of_a_server_that_is_killed_fails_and_the_next_one_starts_it_again() {
    let server = ScriptedMcpProgram::new(json!({}));
    let texts = interrupt(&settings(&server), &server, ProcessSignal::Kill);
    assert!(texts[0].contains("the MCP server `peer` cannot be reached: it ended: killed by signal 9"), "{}", texts[0]);
    assert_eq!(texts[1], "the sum is 2");
    assert_eq!(server.pids().len(), 2);
}

/// A server that reads nothing any more is used until its calls have failed; it does not outlive the session.
#[test]
fn calls_of_a_server_that_hangs_fail_in_time() {
    let server = ScriptedMcpProgram::new(json!({}));
    let mut settings = settings(&server);
    settings["callTimeoutSeconds"] = json!(1);
    let texts = interrupt(&settings, &server, ProcessSignal::Stop);
    assert!(texts.iter().all(|text| text.contains("did not answer `tools/call` within 1 s")), "{texts:?}");
    assert_eq!(commands_with(&server.folder().display().to_string()), [""; 0]);
}

#[test]
fn server_that_does_not_want_to_end_is_killed_with_the_session() {
    let (fixture, server) = (fixture(), ScriptedMcpProgram::new(json!({ "stubborn": true })));
    fixture.script(&calls_script(&[add()]));
    let ended = session(&fixture, &settings(&server)).run().expect(0);
    assert!(ended.took < Duration::from_secs(30), "{ended:?}");
    assert_eq!(commands_with(&server.folder().display().to_string()), [""; 0]);
}

#[test]
fn result_of_a_hundred_megabytes_needs_little_memory() {
    for tool in ["huge", "wide"] {
        let fixture = fixture();
        let as_program = ScriptedMcpProgram::new(json!({ "faults": true }));
        let served = ScriptedMcpProgram::new(json!({ "faults": true })).serve();
        for settings in [settings(&as_program), json!({ "url": served.url() })] {
            fixture.script(&calls_script(&[(tool, json!({})), add()]));
            let running = session(&fixture, &settings).start();
            let peak = peak_memory(running.pid());
            running.wait().expect(0);
            let texts = results(&fixture);
            let expected = ["16777216 bytes", "250000 values"];
            assert!(expected.iter().any(|limit| texts[0].text.contains(limit)), "{}", texts[0].text);
            assert_eq!(texts[1].text, "the sum is 2");
            assert!((1..MAX_MEMORY_KIB).contains(&peak), "{tool}, {settings}: {peak} KiB");
        }
    }
}

/// Nothing is lost if a tool of a server is named like one of ours, or like that of another server.
#[test]
fn tools_with_the_names_of_others_are_different_tools() {
    let (fixture, server) = (fixture(), ScriptedMcpProgram::new(json!({})));
    std::fs::write(fixture.path("x"), "content\n").unwrap();
    let texts = call(&fixture, &settings(&server), &[("view", json!({ "path": "x" }))]);
    assert_eq!(texts, ["not a file"]);
    let view = json!({ "call": { "id": "c0", "tool": "view", "input": { "path": "x" } } });
    let rules = json!([{ "when": { "turn": 1 }, "answer": [view] }, { "answer": [{ "say": "done" }] }]);
    fixture.script(&json!({ "version": 1, "rules": rules }).to_string());
    session(&fixture, &settings(&server)).run().expect(0);
    assert!(results(&fixture)[0].text.contains("content"));
}

/// What a server writes for people does not control the terminal of the person who looks at it.
#[test]
fn escape_sequences_of_a_server_are_not_printed() {
    let fixture: BinaryFixture = fixture();
    let program = r#"
import json, sys
print("\x1b[2Jstderr", file=sys.stderr, flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": "a\x1b[2J", "description": "b\x1b[2J\x07"}, {"name": "c\x1b[2J", "inputSchema": 5}]}
    elif "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;
    let config = json!({ "mcpServers": { "rude": { "command": "python3", "args": ["-c", program] } } }).to_string();
    for words in [&["mcp", "test", "rude"][..], &["mcp", "list"], &["mcp", "test", "rude", "--json"]] {
        let ended = fixture.bosun(words).args(["--mcp-config", &config]).run().expect(0);
        let printed = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!printed.contains(['\u{1b}', '\u{7}']), "{words:?}: {printed:?}");
    }
    fixture.bosun(["mcp", "logs", "nosuch"]).run().expect(2).says(&["there is no MCP server `nosuch` here"]);
    let logged = fixture.bosun(["mcp", "logs", "rude"]).run().expect(0).stdout;
    assert!(logged.contains("stderr") && !logged.contains('\u{1b}'), "{logged:?}");
}
