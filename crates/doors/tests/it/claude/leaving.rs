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
async fn d6_a_client_that_dies_in_mid_turn_leaves_a_session_that_goes_on() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &["--include-partial-messages"], json!({})).await;
    visit.prompt("slow").await;
    let begun = visit.until(|frame| frame["event"]["delta"]["text"] == "I begin.").await;
    let id = begun["session_id"].as_str().unwrap().to_owned();
    visit.die().await;
    let view =
        store::Reader::open(inn.stage.home(), bosun_doors::session_id(&id).unwrap()).unwrap().session_view().unwrap();
    assert_eq!((view.state, view.owner_pid), (protocol::TaskState::Interrupted, None));
}

#[tokio::test]
async fn d6_what_a_dead_client_did_not_decide_is_asked_again() {
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
async fn d6_a_client_that_closes_its_side_with_a_question_open_leaves_it_open() {
    let inn = Inn::new(scenario().script(SCRIPT));
    let mut visit = Visit::greeted(&inn, &["--permission-prompt-tool", "stdio"], json!({})).await;
    visit.prompt("write").await;
    visit.asked("can_use_tool").await;
    let id = visit.seen.iter().find_map(|frame| frame["session_id"].as_str()).unwrap().to_owned();
    visit.close().await;
    let view =
        store::Reader::open(inn.stage.home(), bosun_doors::session_id(&id).unwrap()).unwrap().session_view().unwrap();
    assert_eq!((view.state, inn.stage.file("a.txt")), (protocol::TaskState::Interrupted, None));
}
