//! What trees of agents may spend.

use std::sync::Arc;

use kernel::{Kernel, Limits};
use model::{Calls, Delta, Request};
use protocol::{AgentSpec, Budget, Event, Outcome};
use serde_json::json;
use testkit::session::{Run, scenario};

use super::played::{answer, asked, calls, played, raw, says, with, work};

fn tokens(tokens: u64) -> Budget {
    Budget { tokens: Some(tokens), micros: None }
}

/// Folds the log and checks every account at every event.
fn audit(run: &Run) {
    let mut kernel = Kernel::new(Limits::default());
    for envelope in run.events() {
        kernel.evolve(&envelope.entry).unwrap();
        for task in kernel.tasks() {
            let booked = task.ledger.spent.plus(task.ledger.reserved);
            assert!(task.ledger.budget.allows(booked), "event {} goes past the budget of {}", envelope.seq, task.name);
        }
    }
    let sum: u64 = run.tasks().iter().map(|task| task.usage.total()).sum();
    let root = kernel.root().and_then(|root| kernel.task(root)).unwrap();
    assert_eq!(root.ledger.spent.tokens, sum, "what tasks used is what the root spent");
}

/// Looks around until it is told to come to an end.
fn looks(request: &Request) -> Vec<Delta> {
    if request.calls == Calls::Forbidden {
        return says("this far I came");
    }
    let id = format!("{}-{}", request.path, request.turn);
    vec![raw(&id, "list_shells", "{}")]
}

#[tokio::test]
async fn x5_many_agents_on_one_budget_wait_for_each_other() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => (0..64).map(|n| raw(&format!("t{n}"), "task", &work("n").to_string())).collect(),
        ("/root", _) => says("done"),
        (_, 1) => looks(request),
        _ => says("here"),
    });
    let limits = Limits { live: 64, ..Limits::default() };
    let run = scenario().model(Arc::new(model)).limits(limits).budget(tokens(60_000)).prompt("go").run().await;
    audit(&run);
    assert_eq!(run.outcome(), Some(&Outcome::Completed), "{}", run.transcript());
    assert_eq!(run.tasks().len(), 65);
    let ended = |task: &&protocol::api::TaskView| task.last_outcome == Some(Outcome::Completed);
    assert_eq!(run.tasks().iter().filter(ended).count(), 65);
    assert_eq!(run.count(|event| matches!(event, Event::WrapUpBegan { .. })), 0);
}

#[tokio::test]
async fn x5_an_agents_own_budget_ends_it_with_what_it_has_and_its_parent_goes_on() {
    let poor = AgentSpec { name: "poor".into(), model_invocable: true, budget: tokens(9_000), ..AgentSpec::default() };
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", with(work("kid"), json!({ "agent_type": "poor" })))]),
        ("/root", _) => says("done"),
        _ => looks(request),
    });
    let run = scenario().model(Arc::new(model)).agent(poor).prompt("go").run().await;
    audit(&run);
    assert_eq!(run.tasks()[1].last_outcome, Some(Outcome::BudgetExhausted), "{}", run.transcript());
    assert_eq!(run.tasks()[1].result.as_deref(), Some("this far I came"));
    assert!(answer(&run, "t").text.contains("): budget_exhausted\n"), "{}", answer(&run, "t").text);
    let last: Vec<bool> = asked(&run, "/root/kid").iter().map(|request| request.calls == Calls::Forbidden).collect();
    assert!(last.len() > 2 && last.iter().filter(|last| **last).count() == 1 && last.ends_with(&[true]), "{last:?}");
    assert_eq!(run.outcome(), Some(&Outcome::Completed));
}

#[tokio::test]
async fn x5_a_child_spends_no_more_than_its_parent_has_left() {
    let rich =
        AgentSpec { name: "rich".into(), model_invocable: true, budget: tokens(900_000), ..AgentSpec::default() };
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", with(work("kid"), json!({ "agent_type": "rich" })))]),
        ("/root", _) => says("done"),
        _ => looks(request),
    });
    let run = scenario().model(Arc::new(model)).agent(rich).budget(tokens(30_000)).prompt("go").run().await;
    audit(&run);
    assert_eq!(run.tasks()[1].last_outcome, Some(Outcome::BudgetExhausted), "{}", run.transcript());
    assert_eq!(run.tasks()[1].result.as_deref(), Some("this far I came"));
}
