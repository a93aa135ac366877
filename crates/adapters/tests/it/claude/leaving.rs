//! A client that goes away.

use serde_json::json;
use testkit::session::scenario;

use super::visit::{Inn, Visit};

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
async fn a_client_that_dies_in_mid_turn_leaves_a_session_that_goes_on() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &["--include-partial-messages"], json!({})).await;
    visit.prompt("slow").await;
    let begun = visit.until(|frame| frame["event"]["delta"]["text"] == "I begin.").await;
    let id = begun["session_id"].as_str().unwrap().to_owned();
    visit.die().await;
    let view = store::SessionReader::open(inn.stage.home(), bosun_adapters::session_id(&id).unwrap())
        .unwrap()
        .session_view()
        .unwrap();
    assert_eq!((view.state, view.owner_pid), (protocol::TaskState::Interrupted, None));
}

#[tokio::test]
async fn what_a_dead_client_did_not_decide_is_asked_again() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let args = ["--permission-prompt-tool", "stdio"];
    let mut visit = Visit::greeted(&inn, &args, json!({})).await;
    visit.prompt("write").await;
    visit.asked("can_use_tool").await;
    let id = visit.seen.iter().find_map(|frame| frame["session_id"].as_str()).unwrap().to_owned();
    visit.die().await;
    assert_eq!(inn.stage.file("a.txt"), None);

    let resumed = [args[0], args[1], "--resume", &id];
    let mut visit = Visit::greeted(&inn, &resumed, json!({})).await;
    let asked = visit.asked("can_use_tool").await;
    assert_eq!(asked["request"]["tool_name"], "Write");
    visit.answer(&asked, json!({ "behavior": "allow" })).await;
    visit.until_type("result").await;
    visit.close().await;
    assert_eq!(inn.stage.file("a.txt").as_deref(), Some("one"));
}

#[tokio::test]
async fn a_client_that_closes_its_side_with_a_question_open_leaves_it_open() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &["--permission-prompt-tool", "stdio"], json!({})).await;
    visit.prompt("write").await;
    visit.asked("can_use_tool").await;
    let id = visit.seen.iter().find_map(|frame| frame["session_id"].as_str()).unwrap().to_owned();
    visit.close().await;
    let view = store::SessionReader::open(inn.stage.home(), bosun_adapters::session_id(&id).unwrap())
        .unwrap()
        .session_view()
        .unwrap();
    assert_eq!((view.state, inn.stage.file("a.txt")), (protocol::TaskState::Interrupted, None));
}

#[tokio::test]
async fn two_clients_watch_one_session_and_one_may_leave() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut owner = Visit::greeted(&inn, &[], json!({})).await;
    owner.prompt("hello").await;
    let id = owner.until_type("result").await["session_id"].as_str().unwrap().to_owned();

    let mut guest = Visit::greeted(&inn, &["--resume", &id], json!({})).await;
    assert_eq!(guest.seen[0]["response"]["response"]["hooks_applied"], false);
    guest.prompt("hello from the other side").await;
    let (theirs, ours) = (guest.until_type("result").await, owner.until_type("result").await);
    assert_eq!((&theirs["result"], &ours["result"]), (&json!("Done."), &json!("Done.")));
    guest.close().await;

    owner.prompt("still there?").await;
    assert_eq!(owner.until_type("result").await["result"], "Done.");
    owner.close().await;
}

/// A client that says nothing more waits for the status that follows the last event it was told of. An event that changes
/// nothing else of the status, such as another mode, must have one too.
#[tokio::test]
async fn a_client_may_leave_after_an_event_that_changed_only_the_mode() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut owner = Visit::greeted(&inn, &[], json!({})).await;
    owner.prompt("hello").await;
    let id = owner.until_type("result").await["session_id"].as_str().unwrap().to_owned();
    let mut guest = Visit::greeted(&inn, &["--resume", &id], json!({})).await;
    guest.request(json!({ "subtype": "set_permission_mode", "mode": "plan" })).await;
    owner.until(|frame| frame["permissionMode"] == "plan").await;
    // The session is the owner's, and ends with it.
    for client in [guest, owner] {
        let closed = tokio::time::timeout(std::time::Duration::from_secs(20), client.close()).await;
        assert_eq!(closed.expect("the adapter does not end").1, bosun_adapters::AdapterExit::Success);
    }
}

/// A client that joined another's session is told the truth when that one leaves first, and has failed only if it waited
/// for something.
#[tokio::test]
async fn a_client_of_another_s_session_is_told_that_its_owner_left() {
    let script = SCRIPT.replace("prompt: slow, turn: 1", "prompt: slow");
    for waits in [false, true] {
        let inn = Inn::new(scenario().script(&script));
        let mut owner = Visit::greeted(&inn, &[], json!({})).await;
        owner.prompt("hello").await;
        let id = owner.until_type("result").await["session_id"].as_str().unwrap().to_owned();
        let mut guest = Visit::greeted(&inn, &["--resume", &id, "--include-partial-messages"], json!({})).await;
        if waits {
            guest.prompt("slow").await;
            guest.until(|frame| frame["event"]["delta"]["text"] == "I begin.").await;
        }
        owner.die().await;
        let told = guest.until_type("result").await.to_string();
        assert!(told.contains("the session ended because the client that owns it left"), "{told}");
        let wanted = if waits { bosun_adapters::AdapterExit::Failed } else { bosun_adapters::AdapterExit::Success };
        assert_eq!(guest.close().await.1, wanted);
    }
}
