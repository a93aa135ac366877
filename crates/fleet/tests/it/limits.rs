//! Limits that stop a fleet, with the reason.

use kernel::SessionLimits;
use protocol::{Budget, Event, FleetEnd, TodoStatus};
use runtime::{FleetLimit, FleetOutcome, SessionStart};

use crate::support::{play, reason, statuses, todo, with_plan, with_script};
use testkit::session::{TIME_LIMIT, pass_time_limit};

#[tokio::test]
async fn todos_beyond_the_agent_limit_are_blocked_with_the_reason() {
    let limits = SessionLimits { total: 2, ..SessionLimits::default() };
    let scenario = with_script("  - answer: [say: done]\n").limits(limits);
    let (outcome, run) = play(scenario, with_plan([todo("a", &[]), todo("b", &[]), todo("c", &[])])).await;
    assert_eq!(outcome, FleetOutcome::Ended(FleetEnd::Blocked));
    let done = statuses(&run).iter().filter(|(_, status)| *status == TodoStatus::Done).count();
    assert_eq!((done, reason(&run, "c").as_str()), (2, "this session has reached its limit of 2 agents"));
}

#[tokio::test]
async fn an_agent_type_that_may_not_run_blocks_only_its_own_todos() {
    let limits = SessionLimits { max_by_type: [("reader".to_owned(), 0)].into(), ..SessionLimits::default() };
    let mut reader = todo("look", &[]);
    reader.agent_type = Some("reader".into());
    let (outcome, run) =
        play(with_script("  - answer: [say: done]\n").limits(limits), with_plan([reader, todo("b", &[])])).await;
    assert_eq!(outcome, FleetOutcome::Ended(FleetEnd::Blocked));
    assert!(reason(&run, "look").contains("its limit is 0"), "{}", reason(&run, "look"));
    assert_eq!(statuses(&run)[1].1, TodoStatus::Done);
}

#[tokio::test]
async fn a_fleet_whose_budget_is_spent_starts_no_more_workers() {
    let script = "
  - answer: [say: done]
    usage: { input: 4000, output: 1000 }
";
    let mut request = with_plan((0..20).map(|n| todo(&format!("t{n}"), &[])));
    request.config.parallel = Some(1);
    let budget = Budget { tokens: Some(40_000), micros: None };
    let (outcome, run) = play(with_script(script).budget(budget), request).await;
    assert_eq!(outcome, FleetOutcome::Halted(FleetLimit::Budget), "{}", run.transcript());
    let claims = run.count(|event| matches!(event, Event::TodoClaimed { .. }));
    assert!(claims < 20, "{claims}");
    assert!(statuses(&run).iter().any(|(_, status)| *status == TodoStatus::Pending));
}

#[tokio::test]
async fn a_fleet_whose_time_is_up_starts_no_more_workers() {
    let script = "
  - when: { path: /root/a, turn: 1 }
    answer: [call: { tool: shell, input: { command: sleep 600 } }]
  - answer: [say: done]
";
    let mut request = with_plan([todo("a", &[]), todo("b", &["a"])]);
    request.config.retries = 1;
    let mut driver = with_script(script).timeout(TIME_LIMIT).ready().open(SessionStart::New).await;
    let mut fleet = driver.fleet(request).await;
    driver.until("work", |event| matches!(event, Event::CallStarted { .. })).await;
    pass_time_limit().await;
    let outcome = driver.fleet_ended(&mut fleet).await;
    let run = driver.leave().await;
    assert_eq!(outcome, FleetOutcome::Halted(FleetLimit::Time), "{}", run.transcript());
    assert_eq!(run.count(|event| matches!(event, Event::TodoClaimed { .. })), 1);
}
