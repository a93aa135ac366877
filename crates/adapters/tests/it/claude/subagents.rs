//! Agents below the session's own, as a client sees them.

use serde_json::{Value, json};
use testkit::session::scenario;

use super::visit::{Inn, Visit};

const READS_STATES: (&str, &str) = ("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1");

/// A root that starts a worker, which may hang.
fn script(mode: &str, worker: &str) -> String {
    format!(
        "
version: 1
rules:
  - when: {{ agent: worker }}
    answer: [ {worker} ]
  - when: {{ turn: 1 }}
    answer:
      - call:
          id: c1
          tool: task
          input: {{ description: count, prompt: to ten, agent_type: worker, name: counter, mode: {mode} }}
  - answer: [ {{ say: '${{turn}} turns' }} ]
"
    )
}

fn told<'a>(frames: &'a [Value], subtype: &str) -> Vec<&'a Value> {
    frames.iter().filter(|frame| frame["subtype"] == subtype).collect()
}

fn states(frames: &[Value]) -> Vec<&str> {
    told(frames, "session_state_changed").iter().map(|frame| frame["state"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_agent_that_is_waited_for_is_told_of_from_its_start_to_its_end() {
    let inn = Inn::knowing(scenario().script(&script("sync", "{ say: ten }")), &[READS_STATES]);
    let mut visit = Visit::greeted(&inn, &[], json!({})).await;
    visit.prompt("count").await;
    visit.until_type("result").await;
    visit.until(|frame| frame["state"] == "idle").await;
    let frames = &visit.seen;
    let started = told(frames, "task_started")[0];
    assert_eq!((&started["subagent_type"], &started["tool_use_id"]), (&json!("worker"), &json!("c1")));
    assert_eq!(told(frames, "task_updated")[0]["patch"]["status"], "completed");
    let notification = told(frames, "task_notification")[0];
    assert_eq!((&notification["status"], &notification["summary"]), (&json!("completed"), &json!("ten")));
    assert_eq!(told(frames, "background_tasks_changed").len(), 0);
    assert_eq!(states(frames).last(), Some(&"idle"));
    assert_eq!(told(frames, "session_state_changed")[0]["sdk_host_only"], true);
}

/// A root that starts a worker, which goes on when its client lets it.
const PERMITTED: &str = "
version: 1
rules:
  - when: { agent: worker, turn: 1 }
    answer:
      - call: { id: w1, tool: shell, input: { command: 'touch counted' } }
  - when: { agent: worker }
    answer: [ { say: ten } ]
  - when: { turn: 1 }
    answer:
      - call:
          id: c1
          tool: task
          input: { description: count, prompt: to ten, agent_type: worker, name: counter, mode: background }
  - answer: [ { say: '${turn} turns' } ]
";

#[tokio::test]
async fn an_agent_in_the_background_wakes_the_session_and_idle_comes_after_that() {
    let inn = Inn::knowing(scenario().script(PERMITTED), &[READS_STATES]);
    let mut visit = Visit::greeted(&inn, &["--permission-prompt-tool", "stdio"], json!({})).await;
    visit.prompt("count").await;
    let first = visit.until_type("result").await;
    assert_eq!(first.get("origin"), None);
    let asked = visit.seen.iter().find(|frame| frame["request"]["subtype"] == "can_use_tool").cloned();
    let asked = match asked {
        Some(asked) => asked,
        None => visit.asked("can_use_tool").await,
    };
    visit.answer(&asked, json!({ "behavior": "allow", "updatedInput": asked["request"]["input"] })).await;
    let second = visit.until_type("result").await;
    assert_eq!(second["origin"], json!({ "kind": "task-notification" }));
    let before = visit.seen.len();
    visit.until(|frame| frame["state"] == "idle").await;
    let begun = visit.seen.iter().position(|frame| frame["subtype"] == "task_started").unwrap();
    assert!(!states(&visit.seen[begun..before]).contains(&"idle"), "{:?}", states(&visit.seen));
    assert!(states(&visit.seen).contains(&"requires_action"), "{:?}", states(&visit.seen));
    let behind = told(&visit.seen, "background_tasks_changed");
    assert_eq!(behind.iter().map(|frame| frame["tasks"].as_array().unwrap().len()).collect::<Vec<_>>(), [1, 0]);
}

/// A root that works for ever when its worker is done.
const WOKEN: &str = "
version: 1
rules:
  - when: { agent: worker }
    answer: [ { say: ten } ]
  - when: { prompt: again }
    answer: [ { say: I go on. } ]
  - when: { turn: 1 }
    answer:
      - call:
          tool: task
          input: { description: count, prompt: to ten, agent_type: worker, name: counter, mode: background }
  - when: { turn: 2 }
    answer: [ { say: It counts. } ]
  - answer: [ { hang: true } ]
";

#[tokio::test]
async fn an_interrupt_ends_a_message_that_a_woken_session_has_not_read() {
    let inn = Inn::new(scenario().script(WOKEN));
    let mut visit = Visit::greeted(&inn, &["--replay-user-messages"], json!({})).await;
    visit.prompt("count").await;
    visit.until_type("result").await;
    visit.until(|frame| frame["subtype"] == "init").await;
    visit.prompt("more").await;
    visit.until(|frame| frame["isReplay"] == true && frame["message"]["content"] == "more").await;
    visit.request(json!({ "subtype": "interrupt" })).await;
    assert_eq!(visit.until_type("result").await["subtype"], "error_during_execution");
    visit.prompt("again").await;
    assert_eq!(visit.until_type("result").await["result"], "I go on.");
    visit.close().await;
}

#[tokio::test]
async fn a_task_is_stopped_and_its_output_is_read() {
    let inn = Inn::knowing(scenario().script(&script("background", "{ hang: true }")), &[]);
    let mut visit = Visit::greeted(&inn, &[], json!({})).await;
    visit.prompt("count").await;
    let started = visit.until(|frame| frame["subtype"] == "task_started").await;
    visit.until_type("result").await;
    let task = started["task_id"].clone();
    let output = visit.request(json!({ "subtype": "get_task_output", "task_id": task })).await;
    assert_eq!(output["response"], json!({ "output": "", "total_bytes": 0, "truncated": false }));
    let stopped = visit.request(json!({ "subtype": "stop_task", "task_id": task })).await;
    assert_eq!(stopped["subtype"], "success");
    if told(&visit.seen, "task_notification").is_empty() {
        visit.until(|frame| frame["subtype"] == "task_notification").await;
    }
    assert_eq!(told(&visit.seen, "task_notification")[0]["status"], "stopped");
    assert_eq!(told(&visit.seen, "task_updated").last().unwrap()["patch"]["status"], "killed");
    let unknown = visit.request(json!({ "subtype": "stop_task", "task_id": "task-x" })).await;
    assert_eq!(unknown["subtype"], "success");
    let unknown = visit.request(json!({ "subtype": "get_task_output", "task_id": "task-x" })).await;
    assert_eq!(unknown["subtype"], "error");
}

#[tokio::test]
async fn an_agent_that_is_waited_for_is_sent_to_the_background() {
    let inn = Inn::knowing(scenario().script(&script("sync", "{ hang: true }")), &[]);
    let mut visit = Visit::greeted(&inn, &[], json!({})).await;
    visit.prompt("count").await;
    visit.until(|frame| frame["subtype"] == "task_started").await;
    let sent = visit.request(json!({ "subtype": "background_tasks", "tool_use_id": "c1" })).await;
    assert_eq!(sent["subtype"], "success");
    visit.until_type("result").await;
    assert_eq!(told(&visit.seen, "background_tasks_changed")[0]["tasks"][0]["tool_use_id"], "c1");
}

#[tokio::test]
async fn a_client_that_comes_back_is_told_of_what_is_still_at_work() {
    let inn = Inn::knowing(scenario().script(&script("background", "{ hang: true }")), &[]);
    let mut visit = Visit::greeted(&inn, &[], json!({})).await;
    visit.prompt("count").await;
    let result = visit.until_type("result").await;
    visit.die().await;
    let id = result["session_id"].as_str().unwrap().to_owned();
    let mut again = Visit::greeted(&inn, &["--resume", &id], json!({})).await;
    let started = again.until(|frame| frame["subtype"] == "task_started").await;
    assert_eq!((&started["subagent_type"], &started["description"]), (&json!("worker"), &json!("count")));
    again.until(|frame| frame["subtype"] == "background_tasks_changed").await;
}

#[tokio::test]
async fn agents_of_the_client_are_given_as_our_own_option() {
    let inn = Inn::new(scenario().script(&script("sync", "{ say: ten }")));
    let counter = json!({ "description": "Counts.", "prompt": "Count.", "memory": "user", "model": "inherit" });
    let _visit = Visit::greeted(&inn, &[], json!({ "agents": { "counter": counter } })).await;
    let flags = inn.orders.lock().unwrap()[0].clone();
    let json = flags.iter().find_map(|flag| flag.strip_prefix("--agents=")).unwrap();
    let expected = json!({ "counter": { "description": "Counts.", "prompt": "Count.", "model": "inherit" } });
    assert_eq!(serde_json::from_str::<Value>(json).unwrap(), expected);
    let mut refused = Visit::greeted(&inn, &[], json!({ "agents": { "counter": { "prompt": "Count." } } })).await;
    refused.prompt("count").await;
    let result = refused.until_type("result").await;
    assert_eq!(result["errors"][0], "the agent `counter` has no description: add one, as a string");
}
