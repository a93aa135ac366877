//! Servers that are killed: agents continue, and another server tells how far they are.

use host::Home;
use serde_json::{Value, json};
use testkit::binary::{PATIENCE, ProcessSignal, within};

use super::McpFixture;

fn tasks() -> Value {
    json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } })
}

#[test]
fn a_task_outlives_its_server_and_its_session_host() {
    let mcp = McpFixture::new();
    mcp.hold();
    let mut server = mcp.serve(&["--allow-all"]);
    let call = json!({ "name": "start_agent", "arguments": { "prompt": "held", "wait_seconds": 60 } });
    let task = server.request(&tasks(), "tools/call", call)["result"]["taskId"].clone();
    within(PATIENCE, "it works", || mcp.witness().contains("held"));
    server.process.signal(ProcessSignal::Kill);
    server.process.wait().expect_killed();

    let server = mcp.serve(&["--allow-all"]);
    let get = || server.request(&tasks(), "tasks/get", json!({ "taskId": task }))["result"].clone();
    assert_eq!(get()["status"], "working");
    let host = mcp.fixture.bosun(["serve", "--status", "--json"]).run().expect(0).json();
    ProcessSignal::Kill.send(host["pid"].as_u64().unwrap().try_into().unwrap());
    assert_eq!(get()["status"], "working", "the next session host resumes it");
    std::fs::remove_file(mcp.fixture.path("hold")).unwrap();
    within(PATIENCE, "it is done", || get()["status"] == "completed");
    let result = get()["result"]["structuredContent"].clone();
    assert_eq!((&result["status"], &result["text"]), (&json!("completed"), &json!("It is done.")));
    let unknown = json!({ "taskId": "ses-01900000-0000-7000-8000-000000000001" });
    assert_eq!(server.request(&tasks(), "tasks/get", unknown)["error"]["code"], -32602);
}

#[test]
fn an_ended_task_does_not_go_back_to_work_while_its_session_is_still_kept() {
    let mcp = McpFixture::new();
    let server = mcp.serve(&["--allow-all"]);
    let call = json!({ "name": "start_agent", "arguments": { "prompt": "say hello", "wait_seconds": 60 } });
    let task = server.request(&tasks(), "tools/call", call)["result"]["taskId"].as_str().unwrap().to_owned();
    let get = || server.request(&tasks(), "tasks/get", json!({ "taskId": task }))["result"].clone();
    within(PATIENCE, "it is done", || get()["status"] == "completed");
    // A session host that dies between the end of a run and the end of its session leaves this.
    mcp.fixture.bosun(["serve", "--stop"]).run().expect(0);
    let home = Home::open(mcp.fixture.home()).unwrap();
    home.write_held_record(task.parse().unwrap(), b"{}").unwrap();
    assert_eq!(get()["status"], "completed");
}
