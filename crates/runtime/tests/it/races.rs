//! Mail that interrupts at the moment something ends. What the mail cancelled stays cancelled, and the agent continues.

use futures_util::poll;
use insta::assert_snapshot;
use protocol::{Event, LimitKind, MailDelivery, TaskOutcome};
use runtime::SessionStart;
use testkit::session::scenario;

use crate::support::{Gate, TIME_LIMIT, pass_time_limit, relay, rules, run_ready_tasks, script, silent_model};

fn echo_model() -> std::sync::Arc<dyn model::Model> {
    script(&rules("  - answer: [say: \"heard: ${prompt}\"]\n"))
}

#[tokio::test]
async fn an_answer_that_comes_while_the_mail_is_being_written_is_dropped() {
    let gate = Gate::says("too late");
    let stage = scenario().model(relay([gate.clone(), echo_model()])).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.asked(1).await;
    stage.probe().hold_after(0);
    let mut mail = Box::pin(driver.session().send("news", MailDelivery::Interrupt));
    assert!(poll!(&mut mail).is_pending());
    stage.probe().until_held(1).await;
    gate.open();
    run_ready_tasks().await;
    stage.probe().heal();
    mail.await.unwrap();
    driver.rest().await;
    assert_snapshot!(driver.leave().await.transcript());
}

#[tokio::test]
async fn a_call_that_ends_while_the_mail_is_being_written_stays_cancelled() {
    let gate = Gate::calls("report_intent", "{\"intent\":\"Trying\"}");
    let stage = scenario().model(relay([gate.clone(), echo_model()])).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.asked(1).await;
    // The answer and the start of its call are committed; the result of the call is held.
    stage.probe().hold_after(1);
    gate.open();
    stage.probe().until_held(1).await;
    let mut mail = Box::pin(driver.session().send("news", MailDelivery::Interrupt));
    assert!(poll!(&mut mail).is_pending());
    run_ready_tasks().await;
    stage.probe().heal();
    mail.await.unwrap();
    driver.rest().await;
    assert_snapshot!(driver.leave().await.transcript());
}

#[tokio::test]
async fn a_turn_that_is_dropped_as_it_begins_is_not_asked() {
    let stage = scenario().model(echo_model()).ready();
    let mut driver = stage.open(SessionStart::New).await;
    stage.probe().hold_after(0);
    let mut prompt = Box::pin(driver.session().send("go", MailDelivery::FollowUp));
    assert!(poll!(&mut prompt).is_pending());
    // The prompt is held; more mail lines up behind it.
    stage.probe().until_held(1).await;
    let mut later = Box::pin(driver.session().send("later", MailDelivery::FollowUp));
    assert!(poll!(&mut later).is_pending());
    run_ready_tasks().await;
    stage.probe().hold_after(1);
    // That mail is held next, so that the start of the turn and the mail that cancels it share the following commit.
    stage.probe().until_held(2).await;
    run_ready_tasks().await;
    let mut mail = Box::pin(driver.session().send("news", MailDelivery::Interrupt));
    assert!(poll!(&mut mail).is_pending());
    run_ready_tasks().await;
    stage.probe().heal();
    prompt.await.unwrap();
    later.await.unwrap();
    mail.await.unwrap();
    driver.rest().await;
    assert_eq!(driver.model().requests().len(), 1);
    assert_snapshot!(driver.leave().await.transcript());
}

#[tokio::test]
async fn a_command_of_a_call_that_the_mail_cancelled_is_not_started() {
    let gate = Gate::calls("shell", "{\"background\":true,\"command\":\"touch witness\"}");
    let stage = scenario().model(relay([gate.clone(), echo_model()])).allow_all().ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.asked(1).await;
    // The start of the call is held with its answer, and it is cancelled before it can start anything.
    stage.probe().hold_after(0);
    gate.open();
    stage.probe().until_held(1).await;
    let mut mail = Box::pin(driver.session().send("news", MailDelivery::Interrupt));
    assert!(poll!(&mut mail).is_pending());
    run_ready_tasks().await;
    stage.probe().heal();
    mail.await.unwrap();
    driver.rest().await;
    assert_snapshot!(driver.leave().await.transcript());
}

#[tokio::test]
async fn a_last_answer_with_calls_stays_the_last_although_mail_arrives() {
    let gate = Gate::calls("view", "{\"path\":\"a.txt\"}");
    let model = relay([silent_model(), gate.clone(), echo_model()]);
    let stage = scenario().model(model).timeout(TIME_LIMIT).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.asked(1).await;
    pass_time_limit().await;
    driver.asked(2).await;
    // Other mail is held, so that the answer and the mail that cancels its call share the following commit.
    stage.probe().hold_after(0);
    let mut first = Box::pin(driver.session().send("first", MailDelivery::Steer));
    assert!(poll!(&mut first).is_pending());
    stage.probe().until_held(1).await;
    gate.open();
    run_ready_tasks().await;
    let mut mail = Box::pin(driver.session().send("news", MailDelivery::Interrupt));
    assert!(poll!(&mut mail).is_pending());
    run_ready_tasks().await;
    stage.probe().heal();
    first.await.unwrap();
    mail.await.unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    let late = TaskOutcome::TimedOut { limit: LimitKind::Time };
    let other = |event: &Event| matches!(event, Event::ActivationEnded { outcome, .. } if *outcome != late);
    assert_eq!(run.count(other), 0, "{}", run.transcript());
}
