//! Clients that leave.

use serde_json::json;
use testkit::session::scenario;

use super::visit::{ClaudeTestClient, ClaudeTestHost};

const SCRIPT: &str = "
version: 1
rules:
  - when: { prompt: slow, turn: 1 }
    answer:
      - say: I begin.
      - wait: 1h
  - when: { prompt: write, turn: 1 }
    answer:
      - call: { tool: create, input: { path: a.txt, content: one } }
  - answer: [ { say: 'Done.' } ]
";

#[tokio::test]
async fn session_can_be_resumed_after_its_client_died() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, &["--include-partial-messages"], json!({})).await;
    client.prompt("slow").await;
    let delta = client.next_matching(|frame| frame["event"]["delta"]["text"] == "I begin.").await;
    let id = delta["session_id"].as_str().unwrap().to_owned();
    client.disconnect().await;
    let view = testkit::store::SessionReader::open(test_host.fixture.home(), bosun_adapters::session_id(&id).unwrap())
        .unwrap()
        .session_view()
        .unwrap();
    assert_eq!((view.state, view.owner_pid), (protocol::TaskState::Interrupted, None));
}

#[tokio::test]
async fn undecided_asks_of_a_dead_client_are_sent_to_the_next() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let args = ["--permission-prompt-tool", "stdio"];
    let mut client = ClaudeTestClient::initialized(&test_host, &args, json!({})).await;
    client.prompt("write").await;
    client.next_request("can_use_tool").await;
    let id = client.received.iter().find_map(|frame| frame["session_id"].as_str()).unwrap().to_owned();
    client.disconnect().await;
    assert_eq!(test_host.fixture.file("a.txt"), None);

    let resumed = [args[0], args[1], "--resume", &id];
    let mut client = ClaudeTestClient::initialized(&test_host, &resumed, json!({})).await;
    let request_frame = client.next_request("can_use_tool").await;
    assert_eq!(request_frame["request"]["tool_name"], "Write");
    client.answer(&request_frame, json!({ "behavior": "allow" })).await;
    client.next_of_type("result").await;
    client.close().await;
    assert_eq!(test_host.fixture.file("a.txt").as_deref(), Some("one"));
}

#[tokio::test]
async fn asks_stay_open_when_the_client_closes_its_input() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&test_host, &["--permission-prompt-tool", "stdio"], json!({})).await;
    client.prompt("write").await;
    client.next_request("can_use_tool").await;
    let id = client.received.iter().find_map(|frame| frame["session_id"].as_str()).unwrap().to_owned();
    client.close().await;
    let view = testkit::store::SessionReader::open(test_host.fixture.home(), bosun_adapters::session_id(&id).unwrap())
        .unwrap()
        .session_view()
        .unwrap();
    assert_eq!((view.state, test_host.fixture.file("a.txt")), (protocol::TaskState::Interrupted, None));
}

#[tokio::test]
async fn one_of_two_clients_can_leave_a_session() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut owner = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
    owner.prompt("hello").await;
    let id = owner.next_of_type("result").await["session_id"].as_str().unwrap().to_owned();

    let mut guest = ClaudeTestClient::initialized(&test_host, &["--resume", &id], json!({})).await;
    assert_eq!(guest.received[0]["response"]["response"]["hooks_applied"], false);
    guest.prompt("hello from the other side").await;
    assert_eq!(guest.next_of_type("result").await["result"], "Done.");
    // The owner sees the answer, but the result is the guest's.
    let answer = owner.next_of_type("assistant").await;
    assert_eq!(answer["message"]["content"][0]["text"], "Done.");
    guest.close().await;

    owner.prompt("still there?").await;
    assert_eq!(owner.next_of_type("result").await["result"], "Done.");
    let (frames, _) = owner.close().await;
    assert_eq!(frames.iter().filter(|frame| frame["type"] == "result").count(), 2);
}

/// A client that has closed its input waits for the status after the last event it received. An event that changes only
/// the mode must be followed by a status too.
#[tokio::test]
async fn client_can_leave_after_a_mode_change() {
    let test_host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut owner = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
    owner.prompt("hello").await;
    let id = owner.next_of_type("result").await["session_id"].as_str().unwrap().to_owned();
    let mut guest = ClaudeTestClient::initialized(&test_host, &["--resume", &id], json!({})).await;
    guest.request(json!({ "subtype": "set_permission_mode", "mode": "plan" })).await;
    owner.next_matching(|frame| frame["permissionMode"] == "plan").await;
    // The session ends with its owner, so the guest leaves first.
    for client in [guest, owner] {
        let closed = tokio::time::timeout(std::time::Duration::from_secs(20), client.close()).await;
        assert_eq!(closed.expect("the adapter does not end").1, bosun_adapters::AdapterExit::Success);
    }
}

/// A client that joined another client's session is told when the owner leaves first. It fails only if it was waiting for
/// an answer.
#[tokio::test]
async fn guest_is_told_that_the_owner_left() {
    let script = SCRIPT.replace("prompt: slow, turn: 1", "prompt: slow");
    for waits in [false, true] {
        let test_host = ClaudeTestHost::new(scenario().script(&script));
        let mut owner = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
        owner.prompt("hello").await;
        let id = owner.next_of_type("result").await["session_id"].as_str().unwrap().to_owned();
        let mut guest =
            ClaudeTestClient::initialized(&test_host, &["--resume", &id, "--include-partial-messages"], json!({}))
                .await;
        if waits {
            guest.prompt("slow").await;
            guest.next_matching(|frame| frame["event"]["delta"]["text"] == "I begin.").await;
        }
        owner.disconnect().await;
        let result = guest.next_of_type("result").await.to_string();
        assert!(result.contains("the session ended because the client that owns it left"), "{result}");
        let expected = if waits { bosun_adapters::AdapterExit::Failed } else { bosun_adapters::AdapterExit::Success };
        assert_eq!(guest.close().await.1, expected);
    }
}
