//! Fleets that continue under another owner, and fleets that are stopped.

use protocol::api::SessionCommand;
use protocol::{Event, FleetEnd, Hinted as _, MailDelivery, TodoStatus};
use runtime::{FleetOutcome, SessionStart};

use crate::support::{status, statuses, todo, todo_steps, with_plan, with_script, without_plan};
use testkit::session::{UNTIL_GO, until_file};

const DONE: FleetOutcome = FleetOutcome::Ended(FleetEnd::Done);

/// `one` is done at once, `two` waits for a file called `go`, and `three` comes after both.
fn waiting_script() -> String {
    format!(
        "
  - when: {{ path: \"/root/two.*\", turn: 1 }}
    answer: [call: {{ tool: shell, input: {{ command: \"touch began; {UNTIL_GO}\" }} }}]
  - answer: [say: \"${{path}} is done\"]
"
    )
}

fn three() -> runtime::FleetRequest {
    with_plan([todo("one", &[]), todo("two", &[]), todo("three", &["one", "two"])])
}

#[tokio::test]
async fn a_killed_fleet_continues_and_repeats_no_prompt() {
    let stage = with_script(&waiting_script()).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let id = driver.id();
    let _fleet = driver.fleet(three()).await;
    driver.until("one is done", |event| matches!(event, Event::TodoDone { .. })).await;
    until_file(&stage.path("began")).await;
    driver.crash().await;
    std::fs::write(stage.path("go"), "").unwrap();
    let driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    let mut fleet = driver.resume_fleet().await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, DONE);
    let run = driver.leave().await;
    assert_eq!(todo_steps(&run).iter().filter(|step| step.starts_with('+')).count(), 3, "{:?}", todo_steps(&run));
    assert!(statuses(&run).iter().all(|(_, status)| *status == TodoStatus::Done));
    assert_eq!(run.prompts("/root/one").len(), 1);
    assert_eq!(run.count(|event| matches!(event, Event::FleetBegan(_))), 1);
}

#[tokio::test]
async fn workers_of_a_closed_session_resume_their_conversations() {
    let stage = with_script(&waiting_script()).ready();
    let driver = stage.open(SessionStart::New).await;
    let mut fleet = driver.fleet(three()).await;
    until_file(&stage.path("began")).await;
    let id = driver.id();
    let run = driver.leave().await;
    assert_eq!(fleet.wait().await, FleetOutcome::SessionEnded);
    assert!(!todo_steps(&run).iter().any(|step| step == "+three" || step == "~two"), "{:?}", todo_steps(&run));
    std::fs::write(stage.path("go"), "").unwrap();
    let driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    let mut fleet = driver.resume_fleet().await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, DONE);
    let run = driver.leave().await;
    assert_eq!(run.tasks().len(), 4, "no other worker was started for `two`");
}

#[tokio::test]
async fn a_fleet_killed_while_planning_continues_planning() {
    let script = "
  - when: { agent: main, turn: 1 }
    answer: [call: { tool: shell, input: { command: \"touch began; until [ -e go ]; do sleep 0.01; done\" } }]
  - when: { agent: main, turn: 2 }
    answer: [call: { tool: sql, input: { query: \"INSERT INTO todos (id, title) VALUES ('a', 'First')\" } }]
  - answer: [say: done]
";
    let stage = with_script(script).ready();
    let driver = stage.open(SessionStart::New).await;
    let id = driver.id();
    let _fleet = driver.fleet(without_plan(1)).await;
    until_file(&stage.path("began")).await;
    driver.crash().await;
    std::fs::write(stage.path("go"), "").unwrap();
    let driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    let mut fleet = driver.resume_fleet().await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, DONE);
    let run = driver.leave().await;
    let messages = run.count(|event| matches!(event, Event::MailAdmitted { .. }));
    assert_eq!(messages, 3, "one plan, one prompt of a worker, one review of the result:\n{}", run.transcript());
}

#[tokio::test]
async fn a_fleet_stopped_by_another_process_can_be_resumed() {
    let stage = with_script(&waiting_script()).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let mut fleet = driver.fleet(three()).await;
    until_file(&stage.path("began")).await;
    driver.until("one is done", |event| matches!(event, Event::TodoDone { .. })).await;
    driver.command(&SessionCommand::StopFleet).await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::Ended(FleetEnd::Stopped));
    assert_eq!((status(&driver, "one"), status(&driver, "two")), (TodoStatus::Done, TodoStatus::Pending));
    // Without a fleet, the session can be used like any other.
    driver.send("hello", MailDelivery::FollowUp).await;
    driver.rest().await;
    std::fs::write(stage.path("go"), "").unwrap();
    let mut fleet = driver.resume_fleet().await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, DONE);
    let run = driver.leave().await;
    assert_eq!(todo_steps(&run), ["+one", "+two", "-one", "~two", "+two", "-two", "+three", "-three"]);
}

#[tokio::test]
async fn a_resumed_fleet_keeps_its_plan() {
    let script = "
  - when: { agent: main, turn: 1 }
    answer: [call: { tool: sql, input: { query: \"INSERT INTO todos (id, title) VALUES ('a', 'First')\" } }]
  - when: { agent: worker, turn: 1 }
    answer: [call: { tool: shell, input: { command: \"touch began; until [ -e go ]; do sleep 0.01; done\" } }]
  - answer: [say: done]
";
    let stage = with_script(script).ready();
    let driver = stage.open(SessionStart::New).await;
    let mut fleet = driver.fleet(without_plan(1)).await;
    until_file(&stage.path("began")).await;
    driver.command(&SessionCommand::StopFleet).await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::Ended(FleetEnd::Stopped));
    std::fs::write(stage.path("go"), "").unwrap();
    let mut fleet = driver.resume_fleet().await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, DONE);
    let run = driver.leave().await;
    let plans = |event: &Event| match event {
        Event::MailAdmitted { body: protocol::MailBody::Text { text, .. }, .. } => text.contains("A fleet is deployed"),
        _other => false,
    };
    assert_eq!(run.count(plans), 1, "{}", run.transcript());
}

#[tokio::test]
async fn a_fleet_whose_review_failed_can_be_resumed() {
    let script = "
  - when: { agent: main, prompt: \"The fleet has done what it could\" }
    fail: { class: terminal, message: no such model }
  - when: { agent: main, turn: 1 }
    answer: [call: { tool: sql, input: { query: \"INSERT INTO todos (id, title, check_command) VALUES ('a', 'First', 'test -e go')\" } }]
  - answer: [say: done]
";
    let stage = with_script(script).ready();
    let driver = stage.open(SessionStart::New).await;
    let mut fleet = driver.fleet(without_plan(1)).await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::Ended(FleetEnd::Blocked));
    std::fs::write(stage.path("go"), "").unwrap();
    let mut fleet = driver.resume_fleet().await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, DONE);
    let run = driver.leave().await;
    assert_eq!(statuses(&run), [("a".to_owned(), TodoStatus::Done)]);
}

#[tokio::test]
async fn stopping_a_session_stops_its_fleet() {
    let stage = with_script(&waiting_script()).ready();
    let driver = stage.open(SessionStart::New).await;
    let mut fleet = driver.fleet(three()).await;
    until_file(&stage.path("began")).await;
    driver.stop().await.unwrap();
    assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::SessionEnded);
    assert_eq!(status(&driver, "two"), TodoStatus::Pending);
    driver.leave().await;
}

#[tokio::test]
async fn blocked_todos_are_tried_again_when_a_fleet_resumes() {
    let stage = with_script("  - answer: [say: done]\n").ready();
    let driver = stage.open(SessionStart::New).await;
    let mut request = with_plan([crate::support::checked("a", "test -e fixed"), todo("b", &["a"])]);
    request.config.retries = 0;
    let mut fleet = driver.fleet(request).await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::Ended(FleetEnd::Blocked));
    std::fs::write(stage.path("fixed"), "").unwrap();
    let mut fleet = driver.resume_fleet().await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, DONE);
    driver.leave().await;
}

#[tokio::test]
async fn a_fleet_cannot_start_twice_or_resume_without_a_start() {
    let stage = with_script(&waiting_script()).ready();
    let driver = stage.open(SessionStart::New).await;
    let none = driver.session().resume_fleet(Vec::new()).await;
    assert_eq!(none.unwrap_err().to_string(), "no fleet has run in this session");
    let _fleet = driver.fleet(three()).await;
    let twice = driver.session().start_fleet(without_plan(0)).await.unwrap_err().in_one_line();
    assert!(twice.starts_with("a fleet is already working on the todos of this session; add todos"), "{twice}");
    assert!(twice.contains(&format!("bosun fleet stop {}", driver.id())), "{twice}");
    driver.leave().await;
}
