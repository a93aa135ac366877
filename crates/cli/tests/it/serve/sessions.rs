//! Sessions over REST: created, read, decided, stopped and removed, in this process and in others.

use serde_json::json;
use testkit::binary::{PATIENCE, within};

use super::{HELD, await_held, hold, release, serve};
use crate::fixture;
use crate::scripts::HELLO;

const ASKS: &str = r#"
version: 1
agents:
  main:
    - - say: I will leave a mark.
      - call: { id: mark, tool: shell, input: { command: "touch mark" } }
    - - say: The mark is there.
"#;

#[test]
fn session_is_created_decided_read_and_removed() {
    let fixture = fixture();
    fixture.script(ASKS);
    let server = serve(&fixture);
    let begun = server.http.request("POST", "/v1/sessions", Some(json!({ "prompt": "leave a mark" })));
    assert_eq!(begun.status, 201, "{begun:?}");
    let path = format!("/v1/sessions/{}", begun.json()["id"].as_str().unwrap());
    assert!(begun.response_head.contains(&format!("location: {path}")), "{begun:?}");

    let asks = format!("{path}/asks");
    within(PATIENCE, "an ask", || server.http.request_ok("GET", &asks, None)["total"] == 1);
    let ask = server.http.request_ok("GET", &asks, None)["asks"][0]["ask"].clone();
    assert_eq!(ask["subject"]["tool"], "shell");
    assert!(!fixture.path("mark").exists());
    let unfit = json!({ "decision": { "type": "reply", "text": "yes" } });
    let one = format!("{asks}/{}", ask["id"].as_str().unwrap());
    server.http.request("POST", &one, Some(unfit)).problem(422);
    server.http.request_ok("POST", &one, Some(json!({ "decision": { "type": "allow" } })));
    server.http.request("POST", &one, Some(json!({ "decision": { "type": "allow" } }))).problem(404);
    server.await_state(&path, "idle");
    assert!(fixture.path("mark").exists());

    let tasks = server.http.request_ok("GET", &format!("{path}/tasks"), None);
    assert_eq!(tasks["total"], 1);
    let task = format!("{path}/tasks/{}", tasks["tasks"][0]["id"].as_str().unwrap());
    assert_eq!(server.http.request_ok("GET", &task, None)["task"]["result"], "The mark is there.");
    let output = server.http.request_ok("GET", &format!("{task}/output"), None);
    assert_eq!(output["output"], "The mark is there.");
    assert_eq!(server.http.request_ok("GET", "/v1/sessions?state=idle", None)["total"], 1);
    assert_eq!(server.http.request_ok("GET", "/v1", None)["sessions"], 1);

    server.http.request_ok("DELETE", &path, None);
    server.http.request("GET", &path, None).problem(404);
    assert_eq!(server.http.request_ok("GET", "/v1/sessions", None)["total"], 0);
}

#[test]
fn mode_plan_model_todos_agents_and_commands_are_served() {
    let fixture = fixture();
    fixture.script(HELLO);
    let server = serve(&fixture);
    let path = server.begin("hello");
    let at = |rest: &str| format!("{path}/{rest}");
    let http = &server.http;
    server.await_state(&path, "idle");

    http.request_ok("POST", &at("mode"), Some(json!({ "mode": "plan" })));
    assert_eq!(http.request_ok("GET", &at("mode"), None)["mode"], "plan");
    http.request_ok("POST", &at("plan"), Some(json!({ "text": "first this" })));
    assert_eq!(http.request_ok("GET", &at("plan"), None)["text"], "first this");
    http.request_ok("DELETE", &at("plan"), None);
    assert_eq!(http.request_ok("GET", &at("plan"), None), json!({ "text": null }));
    assert!(http.request_ok("GET", &at("model"), None)["model"].as_str().unwrap().starts_with("script/"));

    let todo = http.request_ok("POST", &at("todos"), Some(json!({ "id": "größe", "title": "look" })));
    assert_eq!(todo["status"], "pending");
    let changed = http.request_ok("PATCH", &at("todos/gr%C3%B6%C3%9Fe"), Some(json!({ "status": "done" })));
    assert_eq!((&changed["id"], &changed["status"]), (&json!("größe"), &json!("done")));
    assert_eq!(http.request_ok("GET", &at("todos?status=done"), None)["total"], 1);
    http.request("PATCH", &at("todos/none"), Some(json!({ "status": "done" }))).problem(422);

    assert!(!http.request_ok("GET", &at("agents"), None)["agents"].as_array().unwrap().is_empty());
    assert!(!http.request_ok("GET", &at("commands"), None)["commands"].as_array().unwrap().is_empty());
    http.request("POST", &at("agents"), Some(json!({ "agent": "nobody", "prompt": "x" }))).problem(422);
    http.request("POST", &at("commands/nothing"), None).problem(422);
    http.request("GET", &at("tasks/task-01980000000070008000000000000001"), None).problem(404);
    http.request("GET", &at("tasks?state=tired"), None).problem(422);
}

#[test]
fn stopped_session_is_resumed_and_forked() {
    let fixture = fixture();
    fixture.script(HELLO);
    let server = serve(&fixture);
    let path = server.begin("hello");
    server.await_state(&path, "idle");
    server.http.request_ok("POST", &format!("{path}/stop"), None);
    within(PATIENCE, "the session is left", || server.http.request_ok("GET", "/v1", None)["sessions"] == 0);
    assert_eq!(server.http.request_ok("GET", &path, None)["ownerPid"], json!(null));
    assert_eq!(server.http.request_ok("GET", &format!("{path}/tasks"), None)["total"], 1);
    let refused = server.http.request("POST", &format!("{path}/messages"), Some(json!({ "text": "hi" }))).problem(409);
    assert!(refused["remedy"].as_str().unwrap().contains("/resume"), "{refused}");

    let resumed = server.http.request_ok("POST", &format!("{path}/resume"), Some(json!({ "prompt": "hello" })));
    assert_eq!(resumed["ownerPid"], server.running.pid());
    server.await_state(&path, "idle");
    // Resuming a running session has no effect.
    server.http.request_ok("POST", &format!("{path}/resume"), None);
    let copy = server.http.request("POST", &format!("{path}/fork"), Some(json!({ "prompt": "hello" })));
    assert_eq!(copy.status, 201, "{copy:?}");
    assert_ne!(format!("/v1/sessions/{}", copy.json()["id"].as_str().unwrap()), path);
    assert_eq!(server.http.request_ok("GET", "/v1/sessions", None)["total"], 2);
}

#[test]
fn session_of_another_process_is_reached_through_its_owner() {
    let fixture = fixture();
    fixture.script(HELD);
    hold(&fixture);
    let running = fixture.prompt("go").start();
    await_held(&fixture);
    let server = serve(&fixture);
    let path = format!("/v1/sessions/{}", fixture.newest());
    assert_eq!(server.http.request_ok("GET", &path, None)["ownerPid"], running.pid());
    let mut watching = server.http.watch(&format!("{path}/events"), None);
    server.http.request_ok("POST", &format!("{path}/messages"), Some(json!({ "text": "hurry", "delivery": "steer" })));
    server.http.request("DELETE", &path, None).problem(409);
    release(&fixture);
    let events = watching.until(|event| event.name == "end");
    assert!(events.iter().any(|event| event.data["body"]["text"] == "hurry"), "{events:#?}");
    running.wait().expect(0);
}

#[test]
fn a_fleet_is_begun_from_a_plan_in_one_request_and_refused_like_a_plan_file() {
    let fixture = fixture();
    fixture.script("version: 1\nrules:\n  - answer: [say: Done.]\n");
    let server = serve(&fixture);
    let plan = |text: &str| json!({ "plan": { "text": text, "file": "plan.yaml" } });
    let refused = server.http.request("POST", "/v1/fleets", Some(plan("todos:\n  - { id: a }\n"))).problem(422);
    assert!(refused["detail"].as_str().unwrap().contains("plan.yaml:2:5: todo `a`: it has no `title`"), "{refused}");
    assert!(refused["remedy"].is_string(), "{refused}");
    let nobody = plan("todos:\n  - { id: a, title: A, agent: nobody }\n");
    let refused = server.http.request("POST", "/v1/fleets", Some(nobody)).problem(422);
    assert!(refused["detail"].as_str().unwrap().contains("a: there is no agent type `nobody`"), "{refused}");
    server.http.request("POST", "/v1/fleets", Some(json!({ "plan": ["todos: []"] }))).problem(400);
    assert_eq!(server.http.request_ok("GET", "/v1/sessions", None)["total"], 0);

    let todos = json!([{ "id": "a", "title": "A" }, { "id": "b", "title": "B", "depends_on": ["a"] }]);
    let object = json!({ "plan": { "object": { "goal": "bake", "todos": todos } }, "fleet": { "parallel": 1 } });
    let begun = server.http.request("POST", "/v1/fleets", Some(object));
    assert_eq!(begun.status, 201, "{begun:?}");
    let path = format!("/v1/sessions/{}/fleet", begun.json()["id"].as_str().unwrap());
    let fleet = || server.http.request_ok("GET", &path, None)["fleet"].clone();
    within(PATIENCE, "the fleet is done", || fleet()["end"] == "done");
    assert_eq!((&fleet()["terms"]["goal"], &fleet()["terms"]["parallel"]), (&json!("bake"), &json!(1)));
    let again = server.http.request_ok("POST", &format!("{path}/resume"), None);
    assert_eq!(again, json!({ "started": true }));
}
