//! Subagents, as a client sees them.

use serde_json::{Value, json};
use testkit::session::scenario;

use super::visit::{ClaudeTestClient, ClaudeTestHost};

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

fn frames_of<'a>(frames: &'a [Value], subtype: &str) -> Vec<&'a Value> {
    frames.iter().filter(|frame| frame["subtype"] == subtype).collect()
}

fn states(frames: &[Value]) -> Vec<&str> {
    frames_of(frames, "session_state_changed").iter().map(|frame| frame["state"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn sync_agent_is_reported_from_start_to_end() {
    let test_host = ClaudeTestHost::with_variables(scenario().script(&script("sync", "{ say: ten }")), &[READS_STATES]);
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
    client.prompt("count").await;
    client.next_of_type("result").await;
    client.next_matching(|frame| frame["state"] == "idle").await;
    let frames = &client.received;
    let started = frames_of(frames, "task_started")[0];
    assert_eq!((&started["subagent_type"], &started["tool_use_id"]), (&json!("worker"), &json!("c1")));
    assert_eq!(frames_of(frames, "task_updated")[0]["patch"]["status"], "completed");
    let notification = frames_of(frames, "task_notification")[0];
    assert_eq!((&notification["status"], &notification["summary"]), (&json!("completed"), &json!("ten")));
    assert_eq!(frames_of(frames, "background_tasks_changed").len(), 0);
    assert_eq!(states(frames).last(), Some(&"idle"));
    assert_eq!(frames_of(frames, "session_state_changed")[0]["sdk_host_only"], true);
}

/// A root that starts a worker, which continues when the client allows its call.
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
async fn background_agent_wakes_the_session_before_it_is_idle() {
    let test_host = ClaudeTestHost::with_variables(scenario().script(PERMITTED), &[READS_STATES]);
    let mut client = ClaudeTestClient::initialized(&test_host, &["--permission-prompt-tool", "stdio"], json!({})).await;
    client.prompt("count").await;
    let first = client.next_of_type("result").await;
    assert_eq!(first.get("origin"), None);
    let request_frame = client.received.iter().find(|frame| frame["request"]["subtype"] == "can_use_tool").cloned();
    let request_frame = match request_frame {
        Some(request_frame) => request_frame,
        None => client.next_request("can_use_tool").await,
    };
    client
        .answer(&request_frame, json!({ "behavior": "allow", "updatedInput": request_frame["request"]["input"] }))
        .await;
    let second = client.next_of_type("result").await;
    assert_eq!(second["origin"], json!({ "kind": "task-notification" }));
    let before = client.received.len();
    client.next_matching(|frame| frame["state"] == "idle").await;
    let started_at = client.received.iter().position(|frame| frame["subtype"] == "task_started").unwrap();
    assert!(!states(&client.received[started_at..before]).contains(&"idle"), "{:?}", states(&client.received));
    assert!(states(&client.received).contains(&"requires_action"), "{:?}", states(&client.received));
    let background_frames = frames_of(&client.received, "background_tasks_changed");
    assert_eq!(
        background_frames.iter().map(|frame| frame["tasks"].as_array().unwrap().len()).collect::<Vec<_>>(),
        [1, 0]
    );
}

/// A root that hangs after its worker is done.
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
async fn interrupt_ends_an_unread_message() {
    let test_host = ClaudeTestHost::new(scenario().script(WOKEN));
    let mut client = ClaudeTestClient::initialized(&test_host, &["--replay-user-messages"], json!({})).await;
    client.prompt("count").await;
    client.next_of_type("result").await;
    client.next_matching(|frame| frame["subtype"] == "init").await;
    client.prompt("more").await;
    client.next_matching(|frame| frame["isReplay"] == true && frame["message"]["content"] == "more").await;
    client.request(json!({ "subtype": "interrupt" })).await;
    assert_eq!(client.next_of_type("result").await["subtype"], "error_during_execution");
    client.prompt("again").await;
    assert_eq!(client.next_of_type("result").await["result"], "I go on.");
    client.close().await;
}

#[tokio::test]
async fn a_task_is_stopped_and_its_output_is_read() {
    let test_host = ClaudeTestHost::with_variables(scenario().script(&script("background", "{ hang: true }")), &[]);
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
    client.prompt("count").await;
    let started = client.next_matching(|frame| frame["subtype"] == "task_started").await;
    client.next_of_type("result").await;
    let task = started["task_id"].clone();
    let output = client.request(json!({ "subtype": "get_task_output", "task_id": task })).await;
    assert_eq!(output["response"], json!({ "output": "", "total_bytes": 0, "truncated": false }));
    let stopped = client.request(json!({ "subtype": "stop_task", "task_id": task })).await;
    assert_eq!(stopped["subtype"], "success");
    if frames_of(&client.received, "task_notification").is_empty() {
        client.next_matching(|frame| frame["subtype"] == "task_notification").await;
    }
    assert_eq!(frames_of(&client.received, "task_notification")[0]["status"], "stopped");
    assert_eq!(frames_of(&client.received, "task_updated").last().unwrap()["patch"]["status"], "killed");
    let unknown = client.request(json!({ "subtype": "stop_task", "task_id": "task-x" })).await;
    assert_eq!(unknown["subtype"], "success");
    let unknown = client.request(json!({ "subtype": "get_task_output", "task_id": "task-x" })).await;
    assert_eq!(unknown["subtype"], "error");
}

#[tokio::test]
async fn sync_agent_is_moved_to_the_background() {
    let test_host = ClaudeTestHost::with_variables(scenario().script(&script("sync", "{ hang: true }")), &[]);
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
    client.prompt("count").await;
    client.next_matching(|frame| frame["subtype"] == "task_started").await;
    let response = client.request(json!({ "subtype": "background_tasks", "tool_use_id": "c1" })).await;
    assert_eq!(response["subtype"], "success");
    client.next_of_type("result").await;
    assert_eq!(frames_of(&client.received, "background_tasks_changed")[0]["tasks"][0]["tool_use_id"], "c1");
}

#[tokio::test]
async fn returning_client_is_told_of_running_tasks() {
    let test_host = ClaudeTestHost::with_variables(scenario().script(&script("background", "{ hang: true }")), &[]);
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
    client.prompt("count").await;
    let result = client.next_of_type("result").await;
    client.disconnect().await;
    let id = result["session_id"].as_str().unwrap().to_owned();
    let mut resumed = ClaudeTestClient::initialized(&test_host, &["--resume", &id], json!({})).await;
    let started = resumed.next_matching(|frame| frame["subtype"] == "task_started").await;
    assert_eq!((&started["subagent_type"], &started["description"]), (&json!("worker"), &json!("count")));
    resumed.next_matching(|frame| frame["subtype"] == "background_tasks_changed").await;
}

#[tokio::test]
async fn client_agents_become_the_agents_option() {
    let test_host = ClaudeTestHost::new(scenario().script(&script("sync", "{ say: ten }")));
    let counter = json!({ "description": "Counts.", "prompt": "Count.", "memory": "user", "model": "inherit" });
    let _client = ClaudeTestClient::initialized(&test_host, &[], json!({ "agents": { "counter": counter } })).await;
    let agents = test_host.opened_with.lock().unwrap()[0].agents.clone().unwrap();
    let expected = json!({ "counter": { "description": "Counts.", "prompt": "Count.", "model": "inherit" } });
    assert_eq!(Value::Object(agents), expected);
    let mut refused =
        ClaudeTestClient::initialized(&test_host, &[], json!({ "agents": { "counter": { "prompt": "Count." } } }))
            .await;
    refused.prompt("count").await;
    let result = refused.next_of_type("result").await;
    assert_eq!(result["errors"][0], "the agent `counter` has no description: add one, as a string");
}
