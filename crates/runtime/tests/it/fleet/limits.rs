//! Limits stop a fleet, and say so.

use kernel::SessionLimits;
use protocol::{Budget, Event, FleetEnd, TodoStatus};
use runtime::{FleetLimit, FleetOutcome, SessionStart};

use super::{by, given, play, reason, statuses, todo};
use crate::support::{TIME, time_is_up};

#[tokio::test]
async fn more_agents_than_may_be_started_block_with_the_reason() {
    let limits = SessionLimits { total: 2, ..SessionLimits::default() };
    let scenario = by("  - answer: [say: done]\n").limits(limits);
    let (outcome, run) = play(scenario, given([todo("a", &[]), todo("b", &[]), todo("c", &[])])).await;
    assert_eq!(outcome, FleetOutcome::Ended(FleetEnd::Blocked));
    let done = statuses(&run).iter().filter(|(_, status)| *status == TodoStatus::Done).count();
    assert_eq!((done, reason(&run, "c").as_str()), (2, "this session has reached its limit of 2 agents"));
}

#[tokio::test]
async fn a_type_that_may_not_run_blocks_its_todos_alone() {
    let limits = SessionLimits { of_type: [("reader".to_owned(), 0)].into(), ..SessionLimits::default() };
    let mut reader = todo("look", &[]);
    reader.agent_type = Some("reader".into());
    let (outcome, run) = play(by("  - answer: [say: done]\n").limits(limits), given([reader, todo("b", &[])])).await;
    assert_eq!(outcome, FleetOutcome::Ended(FleetEnd::Blocked));
    assert!(reason(&run, "look").contains("its limit is 0"), "{}", reason(&run, "look"));
    assert_eq!(statuses(&run)[1].1, TodoStatus::Done);
}

#[tokio::test]
async fn a_fleet_whose_budget_is_spent_starts_nobody_else() {
    let script = "
  - answer: [say: done]
    usage: { input: 4000, output: 1000 }
";
    let mut order = given((0..20).map(|n| todo(&format!("t{n}"), &[])));
    order.terms.parallel = Some(1);
    let budget = Budget { tokens: Some(40_000), micros: None };
    let (outcome, run) = play(by(script).budget(budget), order).await;
    assert_eq!(outcome, FleetOutcome::Halted(FleetLimit::Budget), "{}", run.transcript());
    let claims = run.count(|event| matches!(event, Event::TodoClaimed { .. }));
    assert!(claims < 20, "{claims}");
    assert!(statuses(&run).iter().any(|(_, status)| *status == TodoStatus::Pending));
}

#[tokio::test]
async fn a_fleet_whose_time_is_up_starts_nobody_else() {
    let script = "
  - when: { path: /root/a, turn: 1 }
    answer: [call: { tool: shell, input: { command: sleep 600 } }]
  - answer: [say: done]
";
    let mut order = given([todo("a", &[]), todo("b", &["a"])]);
    order.terms.retries = 1;
    let mut driver = by(script).timeout(TIME).ready().open(SessionStart::New).await;
    let mut fleet = driver.fleet(order).await;
    driver.until("work", |event| matches!(event, Event::CallStarted { .. })).await;
    time_is_up().await;
    let outcome = driver.fleet_ended(&mut fleet).await;
    let run = driver.leave().await;
    assert_eq!(outcome, FleetOutcome::Halted(FleetLimit::Time), "{}", run.transcript());
    assert_eq!(run.count(|event| matches!(event, Event::TodoClaimed { .. })), 1);
}
