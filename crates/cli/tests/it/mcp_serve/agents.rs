//! What clients may do with agents, and what they may not.

use std::os::unix::fs::MetadataExt;

use serde_json::{Value, json};
use testkit::binary::{PATIENCE, within};
use testkit::http::Http;

use super::McpFixture;

/// What a client that shows forms and follows tasks declares.
fn full_client() -> Value {
    json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } })
}

#[test]
fn agents_are_started_messaged_read_and_stopped() {
    let mcp = McpFixture::new();
    mcp.hold();
    let server = mcp.serve(&["--allow-all"]);
    let started = server.call("start_agent", json!({ "prompt": "held" }));
    let session = started["session"].as_str().unwrap();
    within(PATIENCE, "it works", || mcp.witness().contains("held"));
    assert_eq!(server.call("read_agent", json!({ "session": session }))["agent"]["status"], "working");
    std::fs::remove_file(mcp.fixture.path("hold")).unwrap();
    let read = server.call("read_agent", json!({ "session": session, "wait_seconds": 60, "turns_after": 1 }));
    assert_eq!((&read["agent"]["status"], &read["agent"]["text"]), (&json!("completed"), &json!("It is done.")));
    assert_eq!(read["turns"][0]["turn"], 2);
    let again = server.call("message_agent", json!({ "session": session, "text": "go on", "wait_seconds": 60 }));
    assert_eq!((&again["status"], &again["turns"]), (&json!("completed"), &json!(3)));
    mcp.hold();
    let second = server.call("start_agent", json!({ "prompt": "held" }))["session"].clone();
    within(PATIENCE, "the second works", || mcp.witness().matches("held").count() == 2);
    let stop = json!({ "name": "stop_agent", "arguments": { "session": second } });
    assert!(server.request(&json!({}), "tools/call", stop)["result"].get("isError").is_none());
    let stopped = server.call("read_agent", json!({ "session": second, "wait_seconds": 60 }));
    assert_eq!(stopped["agent"]["status"], "cancelled");
    assert_eq!(server.call("list_agents", json!({}))["total"], 2);
}

#[test]
fn clients_only_narrow_what_the_user_allows() {
    let mcp = McpFixture::new();
    let server = mcp.serve(&["--allow-all", "--max-turns", "9"]);
    let refused = |tool: &str, arguments: Value| {
        let answer = server.request(&json!({}), "tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    };
    assert!(refused("start_agent", json!({ "prompt": "x", "folder": "/" })).contains("--add-dir"));
    assert!(refused("start_agent", json!({ "prompt": "x", "model": "script/other.yaml" })).contains("--model"));
    assert!(refused("start_agent", json!({ "prompt": " " })).contains("empty"));
    assert!(refused("start_agent", json!({ "prompt": "x", "permission": "allowAll" })).contains("permission"));
    assert!(refused("start_agent", json!({ "prompt": "x", "max_turns": 0 })).contains("max_turns"));
    let reader = server.call("start_agent", json!({ "prompt": "ask", "read_only": true, "wait_seconds": 60 }));
    assert_eq!(reader["status"], "completed", "its call was denied at once: {reader}");
    assert!(!mcp.witness().contains("asked"));
    let more = json!({ "session": reader["session"], "text": "ask again", "wait_seconds": 60 });
    assert_eq!(server.call("message_agent", more)["status"], "completed");
    let view = mcp.fixture.bosun(["sessions", "show", reader["session"].as_str().unwrap(), "--json"]).run().expect(0);
    assert_eq!(view.json()["session"]["permission"], "plan", "a resumed agent may still only read");
    // A session that no client started.
    let own = mcp.fixture.bosun(["-p", "say hello", "--output-format", "json"]).run().expect(0).json();
    let own = own["session"].as_str().unwrap();
    assert!(refused("read_agent", json!({ "session": own })).contains("no session"));
    assert!(refused("message_agent", json!({ "session": own, "text": "x" })).contains("no session"));
    let unknown = server.request(&full_client(), "tasks/get", json!({ "taskId": own }));
    assert_eq!(unknown["error"]["code"], -32602);
}

#[test]
fn only_the_user_decides_unless_clients_may() {
    let mcp = McpFixture::new();
    let server = mcp.serve(&[]);
    let asking = server.call("start_agent", json!({ "prompt": "ask", "wait_seconds": 1 }));
    let session = asking["session"].clone();
    let status =
        || server.call("read_agent", json!({ "session": session, "wait_seconds": 1 }))["agent"]["status"].clone();
    within(PATIENCE, "it asks", || status() == "needs_decision");
    let listed = server.call("list_asks", json!({}));
    assert_eq!(listed["asks"][0]["choices"], json!(["allow", "deny"]), "{listed}");
    let task = server.request(&full_client(), "tasks/get", json!({ "taskId": session }));
    assert_eq!(task["result"]["status"], "working", "{task}");
    let answer = json!({ "session": session, "number": listed["asks"][0]["number"], "decision": "allow" });
    let call = |name: &str| json!({ "name": name, "arguments": answer });
    assert!(server.request(&json!({}), "tools/call", call("answer_ask"))["error"]["code"] == -32602);
    let trusted = mcp.serve(&["--allow-answers"]);
    let agent = json!({ "elicitation": {}, "extensions": { "dev.bosun/agent": {} } });
    let refused = trusted.request(&agent, "tools/call", call("answer_ask"));
    assert_eq!(refused["error"]["code"], -32602, "an agent never decides: {refused}");
    let answered = trusted.request(&json!({}), "tools/call", call("answer_ask"));
    assert_eq!(answered["result"]["content"][0]["text"], "allowed", "{answered}");
    within(PATIENCE, "the call ran", || mcp.witness().contains("asked"));
}

#[test]
fn a_client_that_may_decide_shows_forms() {
    let mcp = McpFixture::new();
    let server = mcp.serve(&["--allow-answers"]);
    let forms = json!({ "elicitation": {} });
    let mut call = json!({ "name": "start_agent", "arguments": { "prompt": "ask", "wait_seconds": 60 } });
    let asked = server.request(&forms, "tools/call", call.clone());
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let allow = |requests: &Value| {
        let key = requests.as_object().unwrap().keys().next().unwrap().clone();
        json!({ key: { "action": "accept", "content": { "decision": "allow" } } })
    };
    call["inputResponses"] = allow(&asked["result"]["inputRequests"]);
    call["requestState"] = asked["result"]["requestState"].clone();
    let done = server.request(&forms, "tools/call", call);
    assert_eq!(done["result"]["structuredContent"]["status"], "completed", "{done}");
    assert_eq!(mcp.witness(), "asked\n");
    let call = json!({ "name": "start_agent", "arguments": { "prompt": "ask", "wait_seconds": 60 } });
    let task = server.request(&full_client(), "tools/call", call)["result"]["taskId"].clone();
    let get = || server.request(&full_client(), "tasks/get", json!({ "taskId": task }))["result"].clone();
    within(PATIENCE, "the task asks", || get()["status"] == "input_required");
    let responses = json!({ "taskId": task, "inputResponses": allow(&get()["inputRequests"]) });
    assert_eq!(server.request(&full_client(), "tasks/update", responses)["result"]["resultType"], "complete");
    within(PATIENCE, "the task is done", || get()["status"] == "completed");
    assert_eq!(mcp.witness(), "asked\nasked\n");
}

#[test]
fn a_fleet_is_started_and_followed() {
    let mcp = McpFixture::new();
    mcp.fixture.script(FLEET);
    let server = mcp.serve(&["--allow-all"]);
    let call = json!({ "name": "start_fleet", "arguments": { "goal": "write two files", "wait_seconds": 60 } });
    let task = server.request(&full_client(), "tools/call", call);
    assert_eq!(task["result"]["resultType"], "task", "{task}");
    let task = task["result"]["taskId"].clone();
    let get = || server.request(&full_client(), "tasks/get", json!({ "taskId": task }))["result"].clone();
    within(PATIENCE, "the fleet ends", || get()["status"] == "completed");
    let report = get()["result"]["structuredContent"].clone();
    assert_eq!((&report["end"], &report["done"], &report["total"]), (&json!("done"), &json!(2), &json!(2)), "{report}");
    assert_eq!(server.call("fleet_status", json!({ "session": task }))["done"], 2);
    assert_eq!(server.call("list_todos", json!({ "session": task }))["total"], 2);
}

#[test]
fn a_fleet_is_started_with_a_plan() {
    let mcp = McpFixture::new();
    let server = mcp.serve(&["--allow-all"]);
    let todos =
        json!([{ "id": "one", "title": "Say it" }, { "id": "two", "title": "Repeat it", "depends_on": ["one"] }]);
    let fleet = server.call("start_fleet", json!({ "plan": { "goal": "say it", "todos": todos } }));
    let status = || server.call("fleet_status", json!({ "session": fleet["session"] }));
    within(PATIENCE, "the fleet ends", || status()["end"] == "done");
    assert_eq!((&status()["done"], &status()["total"]), (&json!(2), &json!(2)));
    for (arguments, why) in [
        (json!({}), "neither a prompt nor a plan"),
        (json!({ "plan": { "todos": [{ "id": "one" }] } }), "has 1 problem"),
        (
            json!({ "plan": { "defaults": { "model": "script/x.yaml" }, "todos": todos } }),
            "cannot choose models in files",
        ),
        (
            json!({ "plan": { "todos": [{ "id": "a", "title": "a", "model": "replay/x" }] } }),
            "cannot choose models in files",
        ),
    ] {
        let call = json!({ "name": "start_fleet", "arguments": arguments });
        let refused = server.request(&json!({}), "tools/call", call)["result"].clone();
        let text = refused["content"][0]["text"].as_str().unwrap_or_default();
        assert!(refused["isError"] == true && text.contains(why), "{refused}");
    }
}

#[test]
fn a_token_in_a_file_is_private_and_stays() {
    let mcp = McpFixture::new();
    let file = mcp.fixture.path("token");
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let server = mcp.serve(&["--token-file", file.to_str().unwrap()]);
        assert!(server.announced["token"].is_null(), "{}", server.announced);
        tokens.push(std::fs::read_to_string(&file).unwrap());
        let url = server.announced["url"].as_str().unwrap().trim_end_matches("/mcp");
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        let status = |token: &str| Http::new(url, token).request("POST", "/mcp", Some(request.clone())).status;
        assert_eq!((status(tokens[0].trim()), status("another")), (400, 401), "a session is missing, or the token");
    }
    assert_eq!(tokens[0], tokens[1]);
    assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
}

/// A root that plans two todos and is content with them, and workers that do them.
const FLEET: &str = r#"
version: 1
rules:
  - when: { path: /root, answered: { tool: sql } }
    answer: [ say: Two todos. ]
  - when: { path: /root, prompt: A fleet is deployed }
    answer:
      - call: { id: plan, tool: sql, input: { query: "INSERT INTO todos (id, title) VALUES ('a', 'Write a'), ('b', 'Write b')" } }
  - when: { path: /root, prompt: "2 done, 0 blocked" }
    answer: [ say: All is written. ]
  - answer: [ say: "${path} is written." ]
"#;
