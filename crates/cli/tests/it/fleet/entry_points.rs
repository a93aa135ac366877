//! Every way to start a fleet from outside starts the same one.

use protocol::Event;
use serde_json::{Value, json};
use testkit::binary::{BinaryFixture, PATIENCE, Tmux, within};

use crate::fixture;
use crate::sdks::copilot::{Language, all_held, program};
use crate::serve::serve;
use crate::talk::await_prompt;

/// A root that plans three todos and reviews them, and writes a plan first if it is asked for one. The worker of `dough`
/// says that it is done before its check passes.
const BAKERY: &str = r#"
version: 1
rules:
  - when: { path: /root, answered: { tool: write_plan } }
    answer: [call: { tool: exit_plan_mode, input: { summary: Bake, recommended: autopilot_fleet } }]
  - when: { path: /root, answered: { tool: exit_plan_mode } }
    answer: [say: I wait for the fleet.]
  - when: { path: /root, answered: { tool: sql } }
    answer: [say: Three todos.]
  - when: { path: /root, answered: { tool: task_complete } }
    answer: [say: It is baked.]
  - when: { path: /root, turn: 1, contains: plan it }
    answer: [call: { tool: write_plan, input: { text: Make dough and sauce. } }]
  - when: { path: /root, prompt: A fleet is deployed }
    answer:
      - call:
          tool: sql
          input:
            query: >-
              INSERT INTO todos (id, title, check_command) VALUES ('dough', 'Make dough', 'test -f dough'),
              ('sauce', 'Make sauce', NULL), ('bake', 'Bake it', NULL);
              INSERT INTO todo_deps VALUES ('bake', 'dough'), ('bake', 'sauce')
  - when: { path: /root, prompt: "3 done, 0 blocked" }
    answer: [say: It is baked.]
  - when: { path: /root, prompt: ^how is it }
    answer: [say: The sauce is missing.]
  - when: { path: /root, tools: task_complete }
    answer: [call: { tool: task_complete, input: { summary: It is baked, status: done } }]
  - when: { path: /root/dough, turn: 2 }
    answer: [call: { tool: create, input: { path: dough, content: done } }]
  - when: { path: /root/sauce, turn: 1 }
    answer: [call: { tool: shell, input: { command: "while [ -e hold ]; do sleep 0.01; done" } }]
  - answer: [say: "${path} is ready."]
"#;

fn bakery() -> BinaryFixture {
    let fixture = fixture();
    fixture.script(BAKERY);
    fixture
}

/// What a fleet leaves: each todo without its times and tokens, the order of the claims, and how it ended.
fn traces(fixture: &BinaryFixture, session: &str) -> Value {
    let fleet = fixture.bosun(["fleet", "status", session, "--json"]).run().expect(0).json();
    let state = |todo: &Value| {
        let field = |name: &str| todo[name].clone();
        json!([field("id"), field("title"), field("status"), field("attempts"), field("reason"), field("result")])
    };
    let claimed = |event: &Event| match event {
        Event::TodoClaimed { todo, .. } => Some(todo.0.clone()),
        _other => None,
    };
    let claims: Vec<String> =
        fixture.log(session).iter().filter_map(|envelope| claimed(&envelope.entry.event)).collect();
    let todos: Vec<Value> = fleet["todos"].as_array().unwrap().iter().map(state).collect();
    json!({ "todos": todos, "claims": claims, "end": fleet["end"] })
}

/// Runs a command that starts a fleet and waits for its end.
fn baked_by(args: &[&str]) -> Value {
    let fixture = bakery();
    fixture.bosun(args).args(["--allow-all"]).run().expect(0).says(&["Fleet deployed", "fleet done: 3/3 done"]);
    traces(&fixture, &fixture.newest())
}

/// Starts a fleet over HTTP and waits for its end.
fn baked_over_http(route: &str, body: Value) -> Value {
    let fixture = bakery();
    let server = serve(&fixture);
    let path = server.begin("hello");
    server.await_state(&path, "idle");
    server.http.request_ok("POST", &format!("{path}/{route}"), Some(body));
    let id = path.rsplit('/').next().unwrap().to_owned();
    within(PATIENCE, "the fleet ends", || {
        fixture.log(&id).iter().any(|envelope| matches!(envelope.entry.event, Event::FleetEnded { .. }))
    });
    traces(&fixture, &id)
}

/// Starts a fleet with a Copilot SDK, which waits for its end.
fn baked_by_sdk(language: Language) -> Value {
    let fixture = bakery();
    all_held(program(&fixture, language, "fleet").run());
    traces(&fixture, &fixture.newest())
}

fn expected() -> Value {
    let ready = |id: &str, title: &str| json!([id, title, "done", 1, null, format!("/root/{id} is ready.")]);
    json!({
        "todos": [ready("dough", "Make dough"), ready("sauce", "Make sauce"), ready("bake", "Bake it")],
        "claims": ["dough", "sauce", "bake"],
        "end": "done",
    })
}

#[test]
fn commands_and_approved_plans_leave_the_same_todos_claims_and_results() {
    assert_eq!(baked_by(&["fleet", "bake a pizza"]), expected());
    assert_eq!(baked_by(&["-p", "/fleet bake a pizza"]), expected());
    assert_eq!(baked_by(&["-p", "plan it", "--plan", "--plan-exit", "autopilot-fleet"]), expected());
}

#[test]
fn http_clients_leave_the_same_todos_claims_and_results() {
    assert_eq!(baked_over_http("fleet", json!({ "prompt": "bake a pizza" })), expected());
    assert_eq!(baked_over_http("commands/fleet", json!({ "input": "bake a pizza" })), expected());
}

#[test]
fn node_sdk_leaves_the_same_todos_claims_and_results() {
    assert_eq!(baked_by_sdk(Language::Node), expected());
}

#[test]
fn python_sdk_leaves_the_same_todos_claims_and_results() {
    assert_eq!(baked_by_sdk(Language::Python), expected());
}

#[test]
fn a_run_of_a_fleet_exits_with_the_code_of_its_outcome() {
    let fixture = fixture();
    fixture.script(&BAKERY.replace("test -f dough", "test -f nowhere"));
    let ended = fixture.bosun(["-p", "/fleet bake a pizza", "--allow-all", "--output-format", "json"]).run().expect(3);
    let json = ended.json();
    assert_eq!((&json["exitCode"], &json["fleet"]["end"]), (&json!(3), &json!("blocked")));
    fixture.script("version: 1\nrules:\n  - answer: [say: I have no plan.]\n");
    let unplanned = fixture.bosun(["-p", "/fleet bake a pizza", "--allow-all"]).run().expect(1);
    unplanned.says(&["the fleet stopped: 1. there are no todos", "bosun fleet resume"]);
}

#[test]
fn a_conversation_shows_the_progress_of_a_fleet_and_stays_open_for_messages() {
    let fixture = bakery();
    std::fs::write(fixture.path("hold"), "").unwrap();
    let tmux = Tmux::start(&fixture.bosun(["--allow-all"]), 100, 40);
    await_prompt(&tmux);
    tmux.says("/fleet bake a pizza").shows("Fleet deployed: bake a pizza").shows("done dough (Make dough) (1/3)");
    tmux.says("how is it").shows("The sauce is missing.");
    tmux.says("/fleet more").shows("a fleet is already working on the todos of this session");
    std::fs::remove_file(fixture.path("hold")).unwrap();
    tmux.shows("fleet done: 3/3 done").press("C-d");
    assert_eq!(tmux.ends(), 0);
    assert_eq!(traces(&fixture, &fixture.newest())["todos"], expected()["todos"]);
}
