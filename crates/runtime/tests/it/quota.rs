//! A quota that resets, and clocks that jump.

use std::time::Duration;

use insta::assert_snapshot;
use protocol::{Event, MailDelivery, TaskOutcome, TaskState};
use runtime::{SessionStart, SessionStatus};
use testkit::session::{SessionDriver, SessionFixture, scenario};

use crate::support::{relay, rules, script};

const HOUR: Duration = Duration::from_secs(3600);

fn stage() -> SessionFixture {
    let empty = script(&rules("  - fail: { class: quota-until, after: 1h, message: used up }\n"));
    let full = script(&rules("  - answer: [say: reset]\n"));
    scenario().model(relay([empty, full])).ready()
}

fn parked(status: &SessionStatus) -> bool {
    matches!(status.root, Some(TaskState::Parked { .. }))
}

async fn park(stage: &SessionFixture) -> SessionDriver {
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until_status("parked", parked).await;
    driver
}

#[tokio::test]
async fn a_parked_session_goes_on_by_itself_when_the_quota_resets() {
    let stage = stage();
    let mut driver = park(&stage).await;
    assert!(!driver.session().status().borrow().quiet);
    stage.clock().advance(HOUR);
    driver.rest().await;
    assert_snapshot!(driver.leave().await.transcript());
}

#[tokio::test]
async fn a_long_wait_for_a_provider_holds_no_slot() {
    let slow = script(&rules("  - fail: { class: retry-after, after: 1h, message: slow down }\n"));
    let stage = scenario().model(relay([slow, script(&rules("  - answer: [say: at last]\n"))])).ready();
    let mut driver = park(&stage).await;
    stage.clock().advance(HOUR);
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
    assert_eq!(run.count(|event| matches!(event, Event::TurnBegun { .. })), 2);
}

#[tokio::test]
async fn a_session_continues_after_the_machine_slept_past_the_reset() {
    let stage = stage();
    let mut driver = park(&stage).await;
    stage.clock().advance(8 * HOUR);
    driver.rest().await;
    assert_eq!(driver.leave().await.outcome(), Some(&TaskOutcome::Completed));
}

#[tokio::test]
async fn a_clock_that_is_set_back_only_delays_the_session() {
    let stage = stage();
    let mut driver = park(&stage).await;
    stage.clock().set_back(8 * HOUR);
    driver.send("and this", MailDelivery::FollowUp).await;
    assert!(parked(&driver.session().status().borrow()));
    stage.clock().advance(9 * HOUR);
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
    assert_eq!(run.count(|event| matches!(event, Event::TaskParked { .. })), 1);
}

#[tokio::test]
async fn a_parked_session_that_is_left_is_still_parked_for_the_next_owner() {
    let stage = stage();
    let id = park(&stage).await.leave().await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    assert!(parked(&driver.session().status().borrow()));
    stage.clock().advance(HOUR);
    driver.rest().await;
    assert_snapshot!(driver.leave().await.transcript());
}

#[tokio::test]
async fn a_parked_session_can_be_interrupted_and_asked_again() {
    let stage = stage();
    let mut driver = park(&stage).await;
    driver.interrupt().await;
    driver.rest().await;
    driver.send("now", MailDelivery::FollowUp).await;
    driver.rest().await;
    assert_eq!(driver.leave().await.outcome(), Some(&TaskOutcome::Completed));
}
