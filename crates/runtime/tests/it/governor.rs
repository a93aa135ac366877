//! Sessions that share a provider's limits.

use std::sync::Arc;
use std::time::Duration;

use model::{Deltas, Model, ModelFacts, ModelRequest};
use protocol::{Event, MailDelivery, ModelFault, TaskOutcome, TaskState};
use runtime::SessionStart;
use testkit::session::{FakeClock, SessionDriver, SessionFixture, scenario};

use crate::support::{eventually, relay, rules, script};

/// A model with an account, and so with a bucket.
#[derive(Debug)]
struct Governed {
    model: Arc<dyn Model>,
    facts: ModelFacts,
}

impl Model for Governed {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    fn send(&self, request: ModelRequest) -> Deltas {
        self.model.send(request)
    }
}

/// A provider that fails once, and answers from then on.
fn stage(fail: &str) -> SessionFixture {
    let failing = script(&rules(&format!("  - fail: {fail}\n")));
    let model = relay([failing, script(&rules("  - answer: [say: here]\n"))]);
    let facts = ModelFacts { bucket_key: Some("demo/account/model".into()), ..ModelFacts::UNKNOWN };
    scenario().model(Arc::new(Governed { model, facts })).ready()
}

/// Advances the clock until the session is idle.
async fn rest(stage: &SessionFixture, driver: &mut SessionDriver) {
    eventually("rest", || {
        stage.clock().advance(Duration::from_millis(100));
        driver.session().status().borrow().quiet
    })
    .await;
    driver.rest().await;
}

async fn completed(driver: SessionDriver, requests: usize) {
    assert_eq!(driver.model().requests().len(), requests);
    assert_eq!(driver.leave().await.outcome(), Some(&TaskOutcome::Completed));
}

#[tokio::test]
async fn when_one_session_is_throttled_the_other_waits_with_it() {
    let stage = stage("{ class: retry-after, after: 10s, message: slow down }");
    let mut first = stage.open(SessionStart::New).await;
    let mut second = stage.open(SessionStart::New).await;
    first.send("go", MailDelivery::FollowUp).await;
    let throttled = |event: &Event| matches!(event, Event::TurnFailed { fault: ModelFault::RetryAfter { .. }, .. });
    first.until("a throttle", throttled).await;
    second.send("go", MailDelivery::FollowUp).await;
    rest(&stage, &mut first).await;
    rest(&stage, &mut second).await;
    let in_time = FakeClock::START.plus(Duration::from_secs(10));
    assert!(second.model().requests()[0].requested_at >= in_time);
    completed(first, 2).await;
    completed(second, 1).await;
}

#[tokio::test]
async fn a_quota_reached_by_one_session_parks_the_others_without_a_request() {
    let stage = stage("{ class: quota-until, after: 1h, message: used up }");
    let mut first = stage.open(SessionStart::New).await;
    first.send("go", MailDelivery::FollowUp).await;
    let parked = |status: &runtime::SessionStatus| matches!(status.root, Some(TaskState::Parked { .. }));
    first.until_status("parked", parked).await;
    let mut others = Vec::new();
    for _ in 0..5 {
        let mut other = stage.open(SessionStart::New).await;
        other.send("go", MailDelivery::FollowUp).await;
        other.until_status("parked", parked).await;
        assert_eq!(other.model().requests().len(), 0);
        others.push(other);
    }
    stage.clock().advance(Duration::from_secs(3600));
    rest(&stage, &mut first).await;
    completed(first, 2).await;
    for mut other in others {
        rest(&stage, &mut other).await;
        completed(other, 1).await;
    }
}

#[tokio::test]
async fn an_interrupt_reaches_a_session_that_waits_at_the_governor() {
    let stage = stage("{ class: retry-after, after: 10s, message: slow down }");
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until("a throttle", |event| matches!(event, Event::TurnFailed { .. })).await;
    driver.interrupt().await;
    driver.rest().await;
    driver.send("again", MailDelivery::FollowUp).await;
    rest(&stage, &mut driver).await;
    completed(driver, 2).await;
}

/// B4.
#[tokio::test]
async fn an_interrupt_ends_a_wait_for_the_next_attempt() {
    let fail = "{ class: retry-after, after: 50s, message: slow down }";
    // One session waits by itself; the other waits at the governor, whose clock does not move in this test.
    let alone = scenario().script(&rules(&format!("  - fail: {fail}\n"))).ready();
    for stage in [alone, stage(fail)] {
        let mut driver = stage.open(SessionStart::New).await;
        driver.send("go", MailDelivery::FollowUp).await;
        driver.until("a retry", |event| matches!(event, Event::TurnFailed { retry: Some(_), .. })).await;
        let interrupted_at = std::time::Instant::now();
        driver.interrupt().await;
        driver.rest().await;
        assert!(interrupted_at.elapsed() < Duration::from_secs(25), "it took {:?}", interrupted_at.elapsed());
        assert_eq!(driver.model().requests().len(), 1);
    }
}
