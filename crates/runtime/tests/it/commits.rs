//! What is committed together with an answer, and what waits for that commit.

use protocol::{Event, MailDelivery, TaskOutcome};
use runtime::SessionStart;
use store::SessionReader;
use testkit::session::scenario;

use crate::support::{Gate, eventually, relay, rules, run_ready_tasks, script};

#[tokio::test]
async fn a_call_starts_in_the_commit_of_its_answer_and_runs_only_after_it() {
    let gate = Gate::calls("shell", "{\"command\":\"touch witness\"}");
    let done = script(&rules("  - answer: [say: done]\n"));
    let stage = scenario().model(relay([gate.clone(), done])).allow_all().ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.asked(1).await;
    stage.probe().hold_after(0);
    gate.open();
    stage.probe().until_held(1).await;
    run_ready_tasks().await;
    assert!(stage.file("witness").is_none(), "no call runs before its start is durable");
    stage.probe().hold_after(1);
    eventually("the command", || stage.file("witness").is_some()).await;
    stage.probe().until_held(2).await;
    let durable = SessionReader::open(stage.home(), driver.id()).unwrap().events_after(0, usize::MAX).unwrap();
    let [.., answered, started] = durable.as_slice() else { panic!("{durable:?}") };
    assert!(matches!(answered.entry.event, Event::TurnAnswered { .. }), "{answered:?}");
    assert!(matches!(started.entry.event, Event::CallStarted { .. }), "{started:?}");
    stage.probe().heal();
    driver.rest().await;
    assert_eq!(driver.leave().await.outcome(), Some(&TaskOutcome::Completed));
}

#[tokio::test]
async fn an_activation_ends_in_the_commit_of_its_last_answer() {
    let gate = Gate::says("done");
    let stage = scenario().model(gate.clone()).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.asked(1).await;
    stage.probe().fail_commit(2);
    gate.open();
    driver.until_status("its end", |status| status.quiet || status.paused.is_some()).await;
    stage.probe().heal();
    assert_eq!(driver.leave().await.outcome(), Some(&TaskOutcome::Completed));
}
