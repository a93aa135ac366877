//! Reused results, and the end of a fleet.

use host::ProcessIdentity;
use protocol::{Event, FleetEnd, LogEntry, Principal, TodoStatus};
use runtime::{FleetOutcome, FleetRequest, ResultReuse, SessionStart};
use store::{SessionFile, WriteBatch};
use testkit::session::{FakeClock, PlayedSession};

use crate::support::{statuses, todo, todo_steps, with_plan, with_script};
use testkit::session::{UNTIL_GO, until_file};

/// The todos that were claimed.
fn claims(run: &PlayedSession) -> Vec<String> {
    todo_steps(run).into_iter().filter_map(|step| step.strip_prefix('+').map(str::to_owned)).collect()
}

#[tokio::test]
async fn cached_todos_are_not_done_again_and_new_results_are_stored() {
    let stage = with_script("  - answer: [say: \"${path} is done\"]\n").ready();
    let play = async |request: FleetRequest| {
        let driver = stage.open(SessionStart::New).await;
        let mut fleet = driver.fleet(request).await;
        assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::Ended(FleetEnd::Done));
        driver.leave().await
    };
    let both = || with_plan([todo("a", &[]), todo("b", &["a"])]);
    assert_eq!(claims(&play(with_plan([todo("a", &[])])).await), ["a"]);
    let run = play(both()).await;
    assert_eq!(claims(&run), ["b"]);
    assert_eq!(run.count(|event| matches!(event, Event::TodoDone { fence: None, .. })), 1);
    assert!(run.prompts("/root/b")[0].contains("> Result of a:\n> /root/a is done"));
    assert!(claims(&play(both()).await).is_empty());
    assert_eq!(claims(&play(FleetRequest { reuse: ResultReuse::DoAll, ..both() }).await), ["a", "b"]);
}

#[tokio::test]
async fn results_reused_by_an_earlier_owner_are_kept_by_the_next() {
    let script = format!(
        "
  - when: {{ path: /root/b, turn: 1 }}
    answer: [call: {{ tool: shell, input: {{ command: \"touch began; {UNTIL_GO}\" }} }}]
  - answer: [say: \"${{path}} is done\"]
"
    );
    let stage = with_script(&script).ready();
    let driver = stage.open(SessionStart::New).await;
    let mut fleet = driver.fleet(with_plan([todo("a", &[])])).await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::Ended(FleetEnd::Done));
    driver.leave().await;
    let both = || with_plan([todo("a", &[]), todo("b", &["a"])]);
    let driver = stage.open(SessionStart::New).await;
    let id = driver.id();
    driver.fleet(both()).await;
    until_file(&stage.path("began")).await;
    driver.crash().await;
    std::fs::write(stage.path("go"), "").unwrap();
    let driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    let mut fleet = driver.resume_fleet().await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::Ended(FleetEnd::Done));
    assert_eq!(claims(&driver.leave().await), ["b"]);
    let driver = stage.open(SessionStart::New).await;
    let mut fleet = driver.fleet(both()).await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::Ended(FleetEnd::Done));
    assert!(claims(&driver.leave().await).is_empty());
}

/// C6: without special care, a todo whose row is missing would be due for ever.
#[tokio::test]
async fn a_fleet_ends_although_the_row_of_a_todo_is_missing() {
    let stage = with_script("  - answer: [say: done]\n").ready();
    let driver = stage.open(SessionStart::New).await;
    let root = driver.tasks()[0].id;
    let id = driver.leave().await.id();
    let opened = SessionFile::adopt(stage.home(), id, &ProcessIdentity::current().unwrap(), FakeClock::START).unwrap();
    let (changed, gone) = (vec![todo("lost", &[])], Vec::new());
    let event = Event::TodosChanged { by: Principal::User, changed, gone, upto: 0 };
    let entries = vec![LogEntry { at: FakeClock::START, task: root, event }];
    opened.writer.commit(WriteBatch { entries, applied_commands: Vec::new() }).await.unwrap();
    opened.writer.release().unwrap();
    let driver = stage.open(SessionStart::Resume(id)).await;
    let mut fleet = driver.fleet(with_plan([todo("a", &[])])).await;
    assert_eq!(driver.fleet_ended(&mut fleet).await, FleetOutcome::Ended(FleetEnd::Done));
    assert_eq!(statuses(&driver.leave().await), [("a".to_owned(), TodoStatus::Done)]);
}
