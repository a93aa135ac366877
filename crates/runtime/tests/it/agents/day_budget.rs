//! The daily budget of all sessions in a home.

use std::sync::Arc;
use std::time::Duration;

use model::{Model, ModelFacts};
use protocol::{Event, MailDelivery, ParkReason, Price, TaskOutcome};
use runtime::{SessionStart, SessionStatus};
use testkit::session::{Scenario, scenario};

use super::played::{played, says};

/// A day, and a little more.
const NEXT_DAY: Duration = Duration::from_secs(24 * 3600);

/// A model whose answers cost a dollar each, and are expected to cost no more.
fn dollar() -> Arc<dyn Model> {
    // Each answer has ten tokens.
    let price = Price { output: 100_000_000_000, ..Price::default() };
    let facts = ModelFacts { price: Some(price), max_output_tokens: 10, ..ModelFacts::UNKNOWN };
    Arc::new(played(|_| says("done")).with_facts(facts))
}

fn limited(dollars: u64) -> Scenario {
    scenario().model(dollar()).day_budget(dollars * 1_000_000)
}

fn is_parked(status: &SessionStatus) -> bool {
    status.parked.is_some_and(|parking| parking.why == ParkReason::DayBudget)
}

#[tokio::test]
async fn a_session_is_parked_when_the_day_budget_is_spent_and_resumes_the_next_day() {
    let stage = limited(2).ready();
    for _ in 0..2 {
        let mut driver = stage.open(SessionStart::New).await;
        driver.send("go", MailDelivery::FollowUp).await;
        driver.rest().await;
        assert_eq!(driver.leave().await.outcome(), Some(&TaskOutcome::Completed));
    }
    let mut third = stage.open(SessionStart::New).await;
    third.send("go", MailDelivery::FollowUp).await;
    let status = third.until_status("parked", is_parked).await;
    let until = status.parked.unwrap().until.unwrap();
    assert_eq!((until.0 % 86_400_000, third.model().requests().len()), (0, 0));
    stage.clock().advance(NEXT_DAY);
    third.rest().await;
    let run = third.leave().await;
    assert_eq!((run.outcome(), run.text()), (Some(&TaskOutcome::Completed), "done"));
    assert_eq!(run.count(|event| matches!(event, Event::TaskParked { why: ParkReason::DayBudget, .. })), 1);
}

#[tokio::test]
async fn a_session_resumed_on_the_same_day_stays_parked() {
    let stage = limited(1).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.rest().await;
    driver.send("more", MailDelivery::FollowUp).await;
    driver.until_status("parked", is_parked).await;
    assert_eq!(driver.model().requests().len(), 1);
    let id = driver.leave().await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.until_status("parked", is_parked).await;
    assert_eq!(driver.model().requests().len(), 1);
    stage.clock().advance(NEXT_DAY);
    driver.rest().await;
    assert_eq!(driver.model().requests().len(), 2);
}

#[tokio::test]
async fn concurrent_sessions_never_exceed_the_day_budget_together() {
    let stage = limited(3).ready();
    let mut drivers = Vec::new();
    for _ in 0..6 {
        let driver = stage.open(SessionStart::New).await;
        driver.send("go", MailDelivery::FollowUp).await;
        drivers.push(driver);
    }
    let mut requests = 0;
    for driver in &mut drivers {
        driver.until_status("parked or done", |status| is_parked(status) || status.quiet).await;
        requests += driver.model().requests().len();
    }
    assert_eq!(requests, 3);
}

/// D16: if the index is lost, the sessions still record what they spent.
#[tokio::test]
async fn a_lost_index_does_not_renew_the_day_budget() {
    let stage = limited(2).ready();
    for _ in 0..2 {
        let mut driver = stage.open(SessionStart::New).await;
        driver.send("go", MailDelivery::FollowUp).await;
        driver.rest().await;
        driver.leave().await;
    }
    std::fs::write(stage.home().index_db(), "damage, long enough to be taken for the header of a database").unwrap();
    let mut third = stage.open(SessionStart::New).await;
    third.send("go", MailDelivery::FollowUp).await;
    third.until_status("parked", is_parked).await;
    assert_eq!(third.model().requests().len(), 0);
    stage.clock().advance(NEXT_DAY);
    third.rest().await;
    assert_eq!(third.leave().await.outcome(), Some(&TaskOutcome::Completed));
}
