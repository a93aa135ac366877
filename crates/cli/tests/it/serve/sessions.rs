//! Sessions over REST: begun, asked about, decided on, stopped and removed, here and elsewhere.

use serde_json::json;
use testkit::binary::{PATIENCE, within};

use super::{HELD, await_held, hold, release, serve};
use crate::scripts::HELLO;
use crate::stage;

const ASKS: &str = r#"
version: 1
agents:
  main:
    - - say: I will leave a mark.
      - call: { id: mark, tool: shell, input: { command: "touch mark" } }
    - - say: The mark is there.
"#;

#[test]
fn a_session_is_begun_decided_on_looked_at_and_removed() {
    let stage = stage();
    stage.script(ASKS);
    let server = serve(&stage);
    let begun = server.http.ask("POST", "/v1/sessions", Some(json!({ "prompt": "leave a mark" })));
    assert_eq!(begun.status, 201, "{begun:?}");
    let path = format!("/v1/sessions/{}", begun.json()["id"].as_str().unwrap());
    assert!(begun.head.contains(&format!("location: {path}")), "{begun:?}");

    let asks = format!("{path}/asks");
    within(PATIENCE, "an ask", || server.http.done("GET", &asks, None)["total"] == 1);
    let ask = server.http.done("GET", &asks, None)["asks"][0]["ask"].clone();
    assert_eq!(ask["subject"]["tool"], "shell");
    assert!(!stage.path("mark").exists());
    let unfit = json!({ "decision": { "type": "reply", "text": "yes" } });
    let one = format!("{asks}/{}", ask["id"].as_str().unwrap());
    server.http.ask("POST", &one, Some(unfit)).problem(422);
    server.http.done("POST", &one, Some(json!({ "decision": { "type": "allow" } })));
    server.http.ask("POST", &one, Some(json!({ "decision": { "type": "allow" } }))).problem(404);
    server.await_state(&path, "idle");
    assert!(stage.path("mark").exists());

    let tasks = server.http.done("GET", &format!("{path}/tasks"), None);
    assert_eq!(tasks["total"], 1);
    let task = format!("{path}/tasks/{}", tasks["tasks"][0]["id"].as_str().unwrap());
    assert_eq!(server.http.done("GET", &task, None)["task"]["result"], "The mark is there.");
    let output = server.http.done("GET", &format!("{task}/output"), None);
    assert_eq!(output["output"], "The mark is there.");
    assert_eq!(server.http.done("GET", "/v1/sessions?state=idle", None)["total"], 1);
    assert_eq!(server.http.done("GET", "/v1", None)["sessions"], 1);

    server.http.done("DELETE", &path, None);
    server.http.ask("GET", &path, None).problem(404);
    assert_eq!(server.http.done("GET", "/v1/sessions", None)["total"], 0);
}

#[test]
fn mode_plan_model_todos_agents_and_commands_are_told_and_changed() {
    let stage = stage();
    stage.script(HELLO);
    let server = serve(&stage);
    let path = server.begin("hello");
    let at = |rest: &str| format!("{path}/{rest}");
    let http = &server.http;
    server.await_state(&path, "idle");

    http.done("POST", &at("mode"), Some(json!({ "mode": "plan" })));
    assert_eq!(http.done("GET", &at("mode"), None)["mode"], "plan");
    http.done("POST", &at("plan"), Some(json!({ "text": "first this" })));
    assert_eq!(http.done("GET", &at("plan"), None)["text"], "first this");
    http.done("DELETE", &at("plan"), None);
    assert_eq!(http.done("GET", &at("plan"), None), json!({ "text": null }));
    assert!(http.done("GET", &at("model"), None)["model"].as_str().unwrap().starts_with("script/"));

    let todo = http.done("POST", &at("todos"), Some(json!({ "id": "größe", "title": "look" })));
    assert_eq!(todo["status"], "pending");
    let changed = http.done("PATCH", &at("todos/gr%C3%B6%C3%9Fe"), Some(json!({ "status": "done" })));
    assert_eq!((&changed["id"], &changed["status"]), (&json!("größe"), &json!("done")));
    assert_eq!(http.done("GET", &at("todos?status=done"), None)["total"], 1);
    http.ask("PATCH", &at("todos/none"), Some(json!({ "status": "done" }))).problem(422);

    assert!(!http.done("GET", &at("agents"), None)["agents"].as_array().unwrap().is_empty());
    assert!(!http.done("GET", &at("commands"), None)["commands"].as_array().unwrap().is_empty());
    http.ask("POST", &at("agents"), Some(json!({ "agent": "nobody", "prompt": "x" }))).problem(422);
    http.ask("POST", &at("commands/nothing"), None).problem(422);
    http.ask("GET", &at("tasks/task-01980000000070008000000000000001"), None).problem(404);
    http.ask("GET", &at("tasks?state=tired"), None).problem(422);
}

#[test]
fn a_stopped_session_rests_in_its_file_and_is_resumed_and_copied() {
    let stage = stage();
    stage.script(HELLO);
    let server = serve(&stage);
    let path = server.begin("hello");
    server.await_state(&path, "idle");
    server.http.done("POST", &format!("{path}/stop"), None);
    within(PATIENCE, "the session is left", || server.http.done("GET", "/v1", None)["sessions"] == 0);
    assert_eq!(server.http.done("GET", &path, None)["ownerPid"], json!(null));
    assert_eq!(server.http.done("GET", &format!("{path}/tasks"), None)["total"], 1);
    let refused = server.http.ask("POST", &format!("{path}/messages"), Some(json!({ "text": "hi" }))).problem(409);
    assert!(refused["remedy"].as_str().unwrap().contains("/resume"), "{refused}");

    let resumed = server.http.done("POST", &format!("{path}/resume"), Some(json!({ "prompt": "hello" })));
    assert_eq!(resumed["ownerPid"], server.running.pid());
    server.await_state(&path, "idle");
    // One that runs stays as it is.
    server.http.done("POST", &format!("{path}/resume"), None);
    let copy = server.http.ask("POST", &format!("{path}/fork"), Some(json!({ "prompt": "hello" })));
    assert_eq!(copy.status, 201, "{copy:?}");
    assert_ne!(format!("/v1/sessions/{}", copy.json()["id"].as_str().unwrap()), path);
    assert_eq!(server.http.done("GET", "/v1/sessions", None)["total"], 2);
}

#[test]
fn a_session_of_another_process_is_reached_through_it() {
    let stage = stage();
    stage.script(HELD);
    hold(&stage);
    let running = stage.prompt("go").start();
    await_held(&stage);
    let server = serve(&stage);
    let path = format!("/v1/sessions/{}", stage.newest());
    assert_eq!(server.http.done("GET", &path, None)["ownerPid"], running.pid());
    let mut watching = server.http.watch(&format!("{path}/events"), None);
    server.http.done("POST", &format!("{path}/messages"), Some(json!({ "text": "hurry", "delivery": "steer" })));
    server.http.ask("DELETE", &path, None).problem(409);
    release(&stage);
    let told = watching.until(|told| told.name == "end");
    assert!(told.iter().any(|told| told.data["body"]["text"] == "hurry"), "{told:#?}");
    running.wait().expect(0);
}
