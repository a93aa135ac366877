//! Tasks of MCP servers, whose owner is killed, and agents in processes of their own that call a server's tools.

use std::fs;
use std::path::Path;

use protocol::{Envelope, Event, MailBody};
use serde_json::{Value, json};
use testkit::binary::{BinaryFixture, BinaryInvocation, PATIENCE, ProcessSignal, within};
use testkit::mcp::{ScriptedMcpProgram, ScriptedMcpUrl};

use super::{state, tasks, tasks_json};
use crate::fixture;

/// Calls a tool whose task ends when the gate is opened, and says what it was told last.
const GATE: &str = r#"
version: 1
rules:
  - when: { turn: 1 }
    answer: [{ call: { id: c0, tool: mcp__calc__gate, input: { door: 7 } } }]
  - when: { turn: 2 }
    answer: [say: "${answer}"]
  - answer: [say: "I was told: ${prompt}"]
"#;

fn served(revision: &str) -> ScriptedMcpUrl {
    ScriptedMcpProgram::new(json!({ "revision": revision })).serve()
}

fn with_server(invocation: BinaryInvocation, server: &ScriptedMcpUrl) -> BinaryInvocation {
    let servers = json!({ "mcpServers": { "calc": { "url": server.url() } } }).to_string();
    invocation.args(["--mcp-config", &servers])
}

/// Has calls of servers' tools move to the background after so many seconds.
fn background_after(fixture: &BinaryFixture, seconds: u32) {
    fs::create_dir_all(fixture.home()).unwrap();
    fs::write(fixture.home().join("config.toml"), format!("[limits]\nmcp-background-secs = {seconds}\n")).unwrap();
}

fn open_gate(server: &ScriptedMcpUrl) {
    fs::write(server.program().folder().join("open"), "").unwrap();
}

fn until_polled(server: &ScriptedMcpUrl, times: usize) {
    within(PATIENCE, "the server is asked for its task", || server.program().heard("tasks/get").len() >= times);
}

/// How often the log has the result of a task as mail.
fn delivered(log: &[Envelope]) -> usize {
    let is_result = |event: &Event| matches!(event, Event::MailAdmitted { body: MailBody::Result { .. }, .. });
    log.iter().filter(|envelope| is_result(&envelope.entry.event)).count()
}

/// Starts a session that calls the tool, and kills it once the server was asked for its task.
fn killed(fixture: &BinaryFixture, server: &ScriptedMcpUrl) {
    let mut running = with_server(fixture.script(GATE).prompt("go"), server).start();
    until_polled(server, 2);
    running.signal(ProcessSignal::Kill);
    running.wait().expect_killed();
}

#[test]
fn a_task_of_a_server_survives_the_kill_of_its_owner_and_its_call_is_answered_once() {
    for (revision, form) in [("session", "2025-11-25"), ("stateless", "2026-07-28")] {
        let (fixture, server) = (fixture(), served(revision));
        killed(&fixture, &server);
        let listed = tasks_json(&fixture, &["list"]);
        assert_eq!(state(&listed, "/root/gate"), "interrupted", "{revision}");
        let shown = tasks(&fixture, &["show", "gate"]);
        let rows = [
            "server         calc\n".to_owned(),
            "tool           gate\n".to_owned(),
            format!("server's task  task-1 ({form})\n"),
            "server's state working\n".to_owned(),
            "its parent waits for it".to_owned(),
            r#"{"door":7}"#.to_owned(),
        ];
        assert!(rows.iter().all(|row| shown.contains(row)), "{shown}");
        let asked = server.program().heard("tasks/get").len();
        let resumed = with_server(fixture.bosun(["--continue", "--allow-all"]), &server).start();
        until_polled(&server, asked + 1);
        open_gate(&server);
        let ended = resumed.wait().expect(0);
        assert!(ended.stdout.contains("the gate is open"), "{revision}: {}", ended.stdout);
        let heard = |method: &str| server.program().heard(method).len();
        assert_eq!((heard("tools/call"), heard("tasks/cancel")), (1, 0), "{revision}");
        assert_eq!(delivered(&fixture.log(&fixture.newest())), 0, "{revision}: the call has the result");
        assert_eq!(state(&tasks_json(&fixture, &["list"]), "/root/gate"), "completed");
    }
}

#[test]
fn the_result_of_a_task_in_the_background_is_delivered_once_by_the_next_owner() {
    for revision in ["session", "stateless"] {
        let (fixture, server) = (fixture(), served(revision));
        background_after(&fixture, 0);
        killed(&fixture, &server);
        fixture.bosun(["tasks", "send", "gate", "faster"]).run().expect(0);
        let asked = server.program().heard("tasks/get").len();
        let resumed = with_server(fixture.bosun(["--continue", "--allow-all"]), &server).start();
        until_polled(&server, asked + 1);
        fixture.bosun(["tasks", "send", "gate", "faster"]).run().expect(2).says(&["start a new one instead"]);
        assert!(tasks(&fixture, &["output", "gate"]).starts_with("working: the gate is closed"));
        open_gate(&server);
        let ended = resumed.wait().expect(0);
        assert!(ended.stdout.contains("the gate is open"), "{revision}: {}", ended.stdout);
        let log = fixture.log(&fixture.newest());
        assert_eq!(delivered(&log), 1, "{revision}");
        assert_eq!(server.program().heard("tools/call").len(), 1, "{revision}");
        assert_eq!(tasks(&fixture, &["output", "gate"]).lines().last(), Some("the gate is open"));
    }
}

#[test]
fn a_task_that_is_stopped_while_nothing_runs_the_session_is_cancelled_by_the_next_owner() {
    let (fixture, server) = (fixture(), served("stateless"));
    killed(&fixture, &server);
    assert_eq!(tasks(&fixture, &["stop", "gate"]), "queued for /root/gate\n");
    with_server(fixture.bosun(["--continue", "--allow-all"]), &server).run().expect(0);
    assert_eq!(server.program().heard("tasks/cancel").len(), 1);
    assert_eq!(state(&tasks_json(&fixture, &["list"]), "/root/gate"), "cancelled");
}

#[test]
fn an_agent_in_its_own_process_calls_tools_of_servers_and_waits_for_their_tasks() {
    const SCRIPT: &str = r#"
version: 1
rules:
  - when: { path: /root, turn: 1 }
    answer: [{ call: { tool: task, input: { description: calls, prompt: Call them., agent_type: apart, name: one } } }]
  - when: { path: /root }
    answer: [say: "${answer}"]
  - when: { turn: 1 }
    answer: [{ call: { id: c0, tool: tool_search, input: { query: mcp__calc__add mcp__calc__task } } }]
  - when: { turn: 2 }
    answer:
      - call: { id: c1, tool: mcp__calc__add, input: { a: 1, b: 2 } }
      - call: { id: c2, tool: mcp__calc__task, input: {} }
  - answer: [say: "${answer}"]
"#;
    let (fixture, server) = (fixture(), served("stateless"));
    write_agent(&fixture.home(), "apart", "place: process\nmcp-servers: [calc]");
    let ended = with_server(fixture.script(SCRIPT).prompt("go"), &server).run().expect(0);
    let log = fixture.log(&fixture.newest());
    let answers: Vec<Value> = log
        .iter()
        .filter_map(|envelope| match &envelope.entry.event {
            Event::CallAnswered { call, answer, .. } => Some(json!([call.0, answer.text])),
            _other => None,
        })
        .collect();
    assert!(answers.contains(&json!(["c1", "the sum is 3"])), "{answers:?}");
    assert!(answers.contains(&json!(["c2", "the task is done"])), "{answers:?}");
    assert!(ended.stdout.contains("the task is done"), "{}", ended.stdout);
    assert_eq!(state(&tasks_json(&fixture, &["list"]), "/root/one/task"), "completed");
}

fn write_agent(home: &Path, name: &str, fields: &str) {
    let agents = home.join("agents");
    fs::create_dir_all(&agents).unwrap();
    fs::write(agents.join(format!("{name}.md")), format!("---\ndescription: d\n{fields}\n---\nWork.\n")).unwrap();
}
