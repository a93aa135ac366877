//! A fleet goes on under another owner, and is stopped.

use protocol::api::SessionCommand;
use protocol::{Event, FleetEnd, MailDelivery, TodoStatus};
use runtime::{FleetOutcome, SessionStart};

use super::{by, course, given, planned, prompts, status, statuses, todo};
use crate::support::{UNTIL_GO, until_file};

const DONE: FleetOutcome = FleetOutcome::Ended(FleetEnd::Done);

/// `one` is done at once, `two` waits for a file called `go`, and `three` comes after both.
fn waits() -> String {
    format!(
        "
  - when: {{ path: \"/root/two.*\", turn: 1 }}
    answer: [call: {{ tool: shell, input: {{ command: \"touch began; {UNTIL_GO}\" }} }}]
  - answer: [say: \"${{path}} is done\"]
"
    )
}

fn three() -> runtime::FleetRequest {
    given([todo("one", &[]), todo("two", &[]), todo("three", &["one", "two"])])
}

#[tokio::test]
async fn killed_in_the_middle_it_goes_on_and_asks_nothing_twice() {
    let stage = by(&waits()).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let id = driver.id();
    let _fleet = driver.fleet(three()).await;
    driver.until("one is done", |event| matches!(event, Event::TodoDone { .. })).await;
    until_file(&stage.path("began")).await;
    driver.crash().await;
    std::fs::write(stage.path("go"), "").unwrap();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    let mut fleet = driver.resume_fleet().await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, DONE);
    let run = driver.leave().await;
    assert_eq!(course(&run).iter().filter(|step| step.starts_with('+')).count(), 3, "{:?}", course(&run));
    assert!(statuses(&run).iter().all(|(_, status)| *status == TodoStatus::Done));
    assert_eq!(prompts(&run, "/root/one").len(), 1);
    assert_eq!(run.count(|event| matches!(event, Event::FleetBegan(_))), 1);
}

#[tokio::test]
async fn left_in_the_middle_its_workers_go_on_with_what_they_knew() {
    let stage = by(&waits()).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let mut fleet = driver.fleet(three()).await;
    until_file(&stage.path("began")).await;
    let id = driver.id();
    let run = driver.leave().await;
    assert_eq!(fleet.wait().await, FleetOutcome::SessionEnded);
    assert!(!course(&run).iter().any(|step| step == "+three" || step == "~two"), "{:?}", course(&run));
    std::fs::write(stage.path("go"), "").unwrap();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    let mut fleet = driver.resume_fleet().await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, DONE);
    let run = driver.leave().await;
    assert_eq!(run.tasks().len(), 4, "nobody else was started for `two`");
}

#[tokio::test]
async fn killed_while_it_plans_it_plans_on() {
    let script = "
  - when: { agent: main, turn: 1 }
    answer: [call: { tool: shell, input: { command: \"touch began; until [ -e go ]; do sleep 0.01; done\" } }]
  - when: { agent: main, turn: 2 }
    answer: [call: { tool: sql, input: { query: \"INSERT INTO todos (id, title) VALUES ('a', 'First')\" } }]
  - answer: [say: done]
";
    let stage = by(script).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let id = driver.id();
    let _fleet = driver.fleet(planned(1)).await;
    until_file(&stage.path("began")).await;
    driver.crash().await;
    std::fs::write(stage.path("go"), "").unwrap();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    let mut fleet = driver.resume_fleet().await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, DONE);
    let run = driver.leave().await;
    let asked = run.count(|event| matches!(event, Event::MailAdmitted { .. }));
    assert_eq!(asked, 3, "one plan, one prompt of a worker, one look at the result:\n{}", run.transcript());
}

#[tokio::test]
async fn a_fleet_is_stopped_from_elsewhere_and_goes_on_later() {
    let stage = by(&waits()).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let mut fleet = driver.fleet(three()).await;
    until_file(&stage.path("began")).await;
    driver.until("one is done", |event| matches!(event, Event::TodoDone { .. })).await;
    driver.command(&SessionCommand::StopFleet).await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::Ended(FleetEnd::Stopped));
    assert_eq!((status(&driver, "one"), status(&driver, "two")), (TodoStatus::Done, TodoStatus::Pending));
    // Without a fleet the session is one like any other.
    driver.send("hello", MailDelivery::FollowUp).await;
    driver.rest().await;
    std::fs::write(stage.path("go"), "").unwrap();
    let mut fleet = driver.resume_fleet().await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, DONE);
    let run = driver.leave().await;
    assert_eq!(course(&run), ["+one", "+two", "-one", "~two", "+two", "-two", "+three", "-three"]);
}

#[tokio::test]
async fn a_fleet_that_goes_on_has_its_plan() {
    let script = "
  - when: { agent: main, turn: 1 }
    answer: [call: { tool: sql, input: { query: \"INSERT INTO todos (id, title) VALUES ('a', 'First')\" } }]
  - when: { agent: worker, turn: 1 }
    answer: [call: { tool: shell, input: { command: \"touch began; until [ -e go ]; do sleep 0.01; done\" } }]
  - answer: [say: done]
";
    let stage = by(script).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let mut fleet = driver.fleet(planned(1)).await;
    until_file(&stage.path("began")).await;
    driver.command(&SessionCommand::StopFleet).await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::Ended(FleetEnd::Stopped));
    std::fs::write(stage.path("go"), "").unwrap();
    let mut fleet = driver.resume_fleet().await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, DONE);
    let run = driver.leave().await;
    let plans = |event: &Event| match event {
        Event::MailAdmitted { body: protocol::MailBody::Text { text, .. }, .. } => text.contains("the goal of a fleet"),
        _other => false,
    };
    assert_eq!(run.count(plans), 1, "{}", run.transcript());
}

#[tokio::test]
async fn a_fleet_whose_main_agent_could_not_look_at_the_result_goes_on_later() {
    let script = "
  - when: { agent: main, prompt: \"The fleet has done what it could\" }
    fail: { class: terminal, message: no such model }
  - when: { agent: main, turn: 1 }
    answer: [call: { tool: sql, input: { query: \"INSERT INTO todos (id, title, check_command) VALUES ('a', 'First', 'test -e go')\" } }]
  - answer: [say: done]
";
    let stage = by(script).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let mut fleet = driver.fleet(planned(1)).await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::Ended(FleetEnd::Blocked));
    std::fs::write(stage.path("go"), "").unwrap();
    let mut fleet = driver.resume_fleet().await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, DONE);
    let run = driver.leave().await;
    assert_eq!(statuses(&run), [("a".to_owned(), TodoStatus::Done)]);
}

#[tokio::test]
async fn a_session_that_is_stopped_takes_its_fleet_with_it() {
    let stage = by(&waits()).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let mut fleet = driver.fleet(three()).await;
    until_file(&stage.path("began")).await;
    driver.stop().await.unwrap();
    assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::SessionEnded);
    assert_eq!(status(&driver, "two"), TodoStatus::Pending);
    driver.leave().await;
}

#[tokio::test]
async fn what_was_blocked_is_tried_again_when_it_goes_on() {
    let stage = by("  - answer: [say: done]\n").ready();
    let mut driver = stage.open(SessionStart::New).await;
    let mut order = given([super::checked("a", "test -e fixed"), todo("b", &["a"])]);
    order.terms.retries = 0;
    let mut fleet = driver.fleet(order).await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::Ended(FleetEnd::Blocked));
    std::fs::write(stage.path("fixed"), "").unwrap();
    let mut fleet = driver.resume_fleet().await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, DONE);
    driver.leave().await;
}

#[tokio::test]
async fn a_fleet_is_not_begun_twice_and_one_that_never_was_cannot_go_on() {
    let stage = by(&waits()).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let none = driver.session_mut().resume_fleet(runtime::FleetServices::default()).await;
    assert_eq!(none.unwrap_err().to_string(), "no fleet has run in this session");
    let _fleet = driver.fleet(three()).await;
    let twice = driver.session_mut().start_fleet(planned(0), runtime::FleetServices::default()).await;
    assert_eq!(twice.unwrap_err().to_string(), "a fleet is already working on the todos of this session");
    driver.leave().await;
}
