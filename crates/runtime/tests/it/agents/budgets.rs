//! The budgets of trees of agents.

use std::sync::Arc;

use kernel::{Kernel, SessionLimits};
use model::{Delta, ModelFacts, ModelRequest, ToolCallPolicy};
use protocol::{AgentSpec, Budget, Event, MailDelivery, Price, TaskOutcome};
use runtime::SessionStart;
use serde_json::json;
use testkit::session::{PlayedSession, SessionDriver, scenario};
use tokio::sync::Semaphore;

use super::played::{answer, calls, played, raw_call, requests_of, says, with_fields, worker_input};

fn tokens(tokens: u64) -> Budget {
    Budget { tokens: Some(tokens), micros: None }
}

/// Folds the log and checks every account at every event.
fn audit(run: &PlayedSession) {
    let mut kernel = Kernel::new(SessionLimits::default());
    for envelope in run.events() {
        kernel.apply_event(&envelope.entry).unwrap();
        for task in kernel.tasks() {
            let booked = task.ledger.spent.plus(task.ledger.reserved);
            assert!(task.ledger.budget.allows(booked), "event {} exceeds the budget of {}", envelope.seq, task.name);
        }
    }
    let sum: u64 = run.tasks().iter().map(|task| task.usage.total()).sum();
    let root = kernel.root().and_then(|root| kernel.task(root)).unwrap();
    assert_eq!(root.ledger.spent.tokens, sum, "the root has spent what all tasks used");
}

/// Calls a tool in every turn but the last.
fn calls_until_last_turn(request: &ModelRequest) -> Vec<Delta> {
    if request.call_policy == ToolCallPolicy::Forbidden {
        return says("this far I came");
    }
    let id = format!("{}-{}", request.path, request.turn);
    vec![raw_call(&id, "list_shells", "{}")]
}

#[tokio::test]
async fn many_agents_on_one_budget_wait_for_each_other() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => (0..64).map(|n| raw_call(&format!("t{n}"), "task", &worker_input("n").to_string())).collect(),
        ("/root", _) => says("done"),
        (_, 1) => calls_until_last_turn(request),
        _ => says("here"),
    });
    let limits = SessionLimits { live: 64, ..SessionLimits::default() };
    let run = scenario().model(Arc::new(model)).limits(limits).budget(tokens(60_000)).prompt("go").run().await;
    audit(&run);
    assert_eq!(run.outcome(), Some(&TaskOutcome::Completed), "{}", run.transcript());
    assert_eq!(run.tasks().len(), 65);
    let ended = |task: &&protocol::api::TaskView| task.last_outcome == Some(TaskOutcome::Completed);
    assert_eq!(run.tasks().iter().filter(ended).count(), 65);
    assert_eq!(run.count(|event| matches!(event, Event::WrapUpBegan { .. })), 0);
}

const DOLLAR: u64 = 1_000_000;

/// A root that starts eight agents in the background, each held until the gate is opened. The longest answer that its
/// model can give costs a dollar.
async fn start_eight(budget: u64) -> (SessionDriver, Arc<Semaphore>) {
    let price = Price { input: 3 * DOLLAR, output: 15 * DOLLAR, cache_read: 0, cache_write: 0 };
    let facts = ModelFacts { price: Some(price), max_output_tokens: 66_667, ..ModelFacts::UNKNOWN };
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => {
            let start = |n| with_fields(worker_input(&format!("kid{n}")), json!({ "mode": "background" })).to_string();
            (0..8).map(|n| raw_call(&format!("t{n}"), "task", &start(n))).collect()
        }
        _ => says("done"),
    });
    let (model, gate) = model.with_facts(facts).holding(|request| request.path != "/root");
    let limits = SessionLimits { live: 9, ..SessionLimits::default() };
    let budget = Budget { tokens: None, micros: Some(budget) };
    let stage = scenario().model(Arc::new(model)).limits(limits).budget(budget).ready();
    let driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    (driver, gate)
}

/// A13: a reservation is based on the usual length of answers. With the maximum length, only two agents could work at
/// once.
#[tokio::test]
async fn eight_agents_work_at_once_on_a_budget_of_two_of_the_longest_answers() {
    let (mut driver, gate) = start_eight(2 * DOLLAR).await;
    // The root asks twice.
    driver.asked(10).await;
    gate.add_permits(8);
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.count(|event| matches!(event, Event::BudgetAwaited)), 0, "{}", run.transcript());
    audit(&run);
}

#[tokio::test]
async fn an_agent_that_waits_for_reserved_budget_reports_it_once() {
    let (mut driver, gate) = start_eight(DOLLAR / 2).await;
    let waits = driver.until("a wait for the budget", |event| matches!(event, Event::BudgetAwaited)).await;
    gate.add_permits(8);
    driver.rest().await;
    let run = driver.leave().await;
    audit(&run);
    let of_same_task = |envelope: &&protocol::Envelope| {
        envelope.entry.task == waits.entry.task && envelope.entry.event == Event::BudgetAwaited
    };
    assert_eq!(run.events().iter().filter(of_same_task).count(), 1, "{}", run.transcript());
    assert!(
        run.tasks()[1..].iter().all(|task| task.last_outcome == Some(TaskOutcome::Completed)),
        "{}",
        run.transcript()
    );
}

#[tokio::test]
async fn an_agents_own_budget_ends_it_and_its_parent_continues() {
    let poor = AgentSpec { name: "poor".into(), model_invocable: true, budget: tokens(9_000), ..AgentSpec::default() };
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", with_fields(worker_input("kid"), json!({ "agent_type": "poor" })))]),
        ("/root", _) => says("done"),
        _ => calls_until_last_turn(request),
    });
    let run = scenario().model(Arc::new(model)).agent(poor).prompt("go").run().await;
    audit(&run);
    assert_eq!(run.tasks()[1].last_outcome, Some(TaskOutcome::BudgetExhausted), "{}", run.transcript());
    assert_eq!(run.tasks()[1].result.as_deref(), Some("this far I came"));
    assert!(answer(&run, "t").text.contains("): budget_exhausted\n"), "{}", answer(&run, "t").text);
    let last: Vec<bool> =
        requests_of(&run, "/root/kid").iter().map(|request| request.call_policy == ToolCallPolicy::Forbidden).collect();
    assert!(last.len() > 2 && last.iter().filter(|last| **last).count() == 1 && last.ends_with(&[true]), "{last:?}");
    assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
}

#[tokio::test]
async fn a_child_spends_no_more_than_its_parent_has_left() {
    let rich =
        AgentSpec { name: "rich".into(), model_invocable: true, budget: tokens(900_000), ..AgentSpec::default() };
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", with_fields(worker_input("kid"), json!({ "agent_type": "rich" })))]),
        ("/root", _) => says("done"),
        _ => calls_until_last_turn(request),
    });
    let run = scenario().model(Arc::new(model)).agent(rich).budget(tokens(30_000)).prompt("go").run().await;
    audit(&run);
    assert_eq!(run.tasks()[1].last_outcome, Some(TaskOutcome::BudgetExhausted), "{}", run.transcript());
    assert_eq!(run.tasks()[1].result.as_deref(), Some("this far I came"));
}
