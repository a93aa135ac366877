//! Limits on the number of agents.

use std::collections::BTreeSet;
use std::sync::Arc;

use kernel::SessionLimits;
use model::{Delta, ModelRequest};
use protocol::{Event, MailDelivery, TaskOutcome, ToolResultStatus};
use runtime::SessionStart;
use testkit::session::{PlayedSession, scenario};

use super::played::{answer, calls, played, raw_call, requests_of, says, tools, worker_input};

/// Starts one agent below itself, and tries to even where the tool is not offered.
fn starts_one_below(request: &ModelRequest) -> Vec<Delta> {
    match request.turn {
        1 => {
            vec![raw_call(&format!("at{}", request.path.matches('/').count()), "task", &worker_input("n").to_string())]
        }
        _ => says(format!("{} is done", request.path)),
    }
}

#[tokio::test]
async fn at_the_depth_cap_the_tool_is_not_offered_and_is_refused() {
    let limits = SessionLimits { depth: 2, ..SessionLimits::default() };
    let run = scenario().model(Arc::new(played(starts_one_below))).limits(limits).prompt("go").run().await;
    assert_eq!(run.tasks().len(), 3, "{}", run.transcript());
    let offered = |path: &str| {
        let request = &requests_of(&run, path)[0];
        let all = request.tools.iter().map(|tool| format!("{} {}", tool.name, tool.description)).collect::<String>();
        all.contains("task")
    };
    assert!(offered("/root") && offered("/root/n") && !offered("/root/n/n"));
    let refused = answer(&run, "at3");
    assert_eq!(refused.status, ToolResultStatus::Refused);
    assert!(refused.text.starts_with("There is no tool `task`."), "{}", refused.text);
    assert!(tools(&requests_of(&run, "/root")[0]).contains(&"task"));
}

#[tokio::test]
async fn a_model_that_always_starts_five_stops_at_the_total_and_at_the_rate() {
    let five = |request: &ModelRequest| match request.turn {
        1 => {
            (0..5).map(|n| raw_call(&format!("{}-{n}", request.path), "task", &worker_input("n").to_string())).collect()
        }
        _ => says("done"),
    };
    for (limits, refusal) in [
        (SessionLimits { total: 12, ..SessionLimits::default() }, "this session has reached its limit of 12 agents"),
        (
            SessionLimits { rate: 12, ..SessionLimits::default() },
            "the subagents of a session may together start at most 12 agents within a minute",
        ),
    ] {
        let from_root = u32::from(limits.rate == 12) * 5;
        let run = scenario().model(Arc::new(played(five))).limits(limits).prompt("go").run().await;
        assert_eq!(run.tasks().len() - 1, 12 + from_root as usize, "{}", run.transcript());
        let refused = run.count(|event| match event {
            Event::CallAnswered { answer, .. } => answer.text.starts_with(refusal),
            _other => false,
        });
        assert!(refused > 0, "{}", run.transcript());
        assert!(run.tasks().iter().all(|task| task.last_outcome == Some(TaskOutcome::Completed)));
    }
}

/// The maximum number of agents that ran at once.
fn most_at_once(run: &PlayedSession) -> usize {
    let (mut live, mut most) = (BTreeSet::new(), 0);
    for envelope in run.events() {
        let task = envelope.entry.task;
        match &envelope.entry.event {
            Event::ActivationStarted { .. } | Event::SlotRegained if task != run.tasks()[0].id => {
                live.insert(task);
                most = most.max(live.len());
            }
            Event::ActivationEnded { .. } | Event::WaitBegan { .. } => {
                live.remove(&task);
            }
            _other => {}
        }
    }
    most
}

#[tokio::test]
async fn agents_over_the_live_cap_wait_for_a_slot() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => (0..100).map(|n| raw_call(&format!("t{n}"), "task", &worker_input("n").to_string())).collect(),
        _ => says("done"),
    });
    let limits = SessionLimits { live: 3, ..SessionLimits::default() };
    let run = scenario().model(Arc::new(model)).limits(limits).prompt("go").run().await;
    assert!(run.tasks().iter().all(|task| task.last_outcome == Some(TaskOutcome::Completed)), "{}", run.transcript());
    assert_eq!((run.tasks().len(), most_at_once(&run)), (101, 3));
}

#[tokio::test]
async fn concurrent_starts_stop_exactly_at_the_total() {
    let model = played(|request| match (depth(request), request.turn) {
        (0, 1) => (0..64).map(|n| raw_call(&format!("t{n}"), "task", &worker_input("n").to_string())).collect(),
        (1, 1) => {
            (0..5).map(|n| raw_call(&format!("{}-{n}", request.path), "task", &worker_input("n").to_string())).collect()
        }
        _ => says("done"),
    });
    let limits = SessionLimits { live: 64, total: 200, rate: 10_000, ..SessionLimits::default() };
    let run = scenario().model(Arc::new(model)).limits(limits).prompt("go").run().await;
    assert_eq!(run.tasks().len() - 1, 200, "{}", run.transcript());
    let refused = run.count(|event| match event {
        Event::CallAnswered { answer, .. } => answer.status == ToolResultStatus::Refused,
        _other => false,
    });
    assert_eq!(refused, 64 + 64 * 5 - 200);
    assert!(run.tasks().iter().all(|task| task.last_outcome == Some(TaskOutcome::Completed)));
}

fn depth(request: &ModelRequest) -> usize {
    request.path.matches('/').count() - 1
}

#[tokio::test]
async fn a_chain_finishes_with_one_slot() {
    let limits = SessionLimits { live: 1, depth: 4, ..SessionLimits::default() };
    let run = scenario().model(Arc::new(played(starts_one_below))).limits(limits).prompt("go").run().await;
    assert_eq!((run.tasks().len(), run.text()), (5, "/root is done"), "{}", run.transcript());
    assert!(run.tasks().iter().all(|task| task.last_outcome == Some(TaskOutcome::Completed)));
    assert_eq!(most_at_once(&run), 1);
}

#[tokio::test]
async fn the_caps_hold_across_owners() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", turn) if !request.prompt().contains("enough") => {
            calls([(format!("t{turn}").as_str(), "task", worker_input("n"))])
        }
        ("/root", _) => says("done"),
        _ => says("here"),
    });
    let (model, gate) = model.holding(|request| request.path == "/root" && request.turn == 3);
    let limits = SessionLimits { total: 2, ..SessionLimits::default() };
    let stage = scenario().model(Arc::new(model)).limits(limits).ready();
    let driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.asked(5).await;
    let id = driver.crash().await.id();
    gate.add_permits(9);
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.send("enough", MailDelivery::Steer).await;
    driver.resume().await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.tasks().len(), 3, "{}", run.transcript());
}
