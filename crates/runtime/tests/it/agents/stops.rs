//! Stopping agents.

use std::sync::Arc;
use std::time::Duration;

use model::ToolCallPolicy;
use protocol::{CancelBy, Event, MailDelivery, TaskOutcome, TaskState};
use runtime::SessionStart;
use serde_json::json;
use testkit::session::scenario;

use super::played::{answer, calls, played, requests_of, says, with_fields, worker_input};

#[tokio::test]
async fn an_agent_that_is_asked_to_stop_reports_what_it_has() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", with_fields(worker_input("kid"), json!({ "mode": "background" })))]),
        ("/root", 2) => {
            calls([("s", "stop_agent", json!({ "agent": "kid" })), ("w", "wait", json!({ "on": ["kid"] }))])
        }
        ("/root/kid", 1) => calls([("u", "task", worker_input("leaf"))]),
        ("/root/kid", _) => says("half of it"),
        ("/root/kid/leaf", 1) => calls([("sh", "shell", json!({ "command": "sleep 600" }))]),
        (path, _) => says(format!("{path} is done")),
    });
    let (model, gate) = model.holding(|request| request.path == "/root" && request.turn == 2);
    let stage = scenario().model(Arc::new(model)).allow_all().ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until("a command", |event| matches!(event, Event::CallStarted { call } if call.0 == "sh")).await;
    gate.add_permits(1);
    driver.rest().await;
    let run = driver.leave().await;
    assert!(answer(&run, "s").text.starts_with("/root/kid was asked to stop"), "{}", run.transcript());
    let kid = &run.tasks()[1];
    assert_eq!(kid.state, TaskState::Finished { outcome: TaskOutcome::Cancelled { by: CancelBy::Agent } });
    assert_eq!(kid.result.as_deref(), Some("half of it"), "{}", run.transcript());
    assert_eq!(requests_of(&run, "/root/kid").last().unwrap().call_policy, ToolCallPolicy::Forbidden);
    assert!(matches!(run.tasks()[2].state, TaskState::Finished { outcome: TaskOutcome::Cancelled { .. } }));
    let texts = super::played::input_texts(requests_of(&run, "/root").last().unwrap()).join("\n");
    assert!(texts.contains("): cancelled") && texts.contains("> half of it"), "{texts}");
}

#[tokio::test]
async fn an_aborted_agent_reports_nothing() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", with_fields(worker_input("kid"), json!({ "mode": "background" })))]),
        ("/root", 2) => calls([("s", "stop_agent", json!({ "agent": "kid", "now": true }))]),
        (path, _) => says(format!("{path} is done")),
    });
    let (model, _gate) = model.holding(|request| request.path == "/root/kid");
    let stage = scenario().model(Arc::new(model)).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(answer(&run, "s").text, "/root/kid is stopped: cancelled", "{}", run.transcript());
    assert_eq!(run.tasks()[1].state, TaskState::Finished { outcome: TaskOutcome::Cancelled { by: CancelBy::Agent } });
    assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
}

#[tokio::test]
async fn an_agent_that_does_not_finish_its_last_turn_in_time_is_aborted() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", with_fields(worker_input("kid"), json!({ "mode": "background" })))]),
        ("/root", 2) => {
            calls([("s", "stop_agent", json!({ "agent": "kid" })), ("w", "wait", json!({ "on": ["kid"] }))])
        }
        (path, _) => says(format!("{path} is done")),
    });
    let (model, _gate) = model.holding(|request| request.path == "/root/kid");
    let stage = scenario().model(Arc::new(model)).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until("a wait", |event| matches!(event, Event::WaitBegan { .. })).await;
    stage.clock().advance(Duration::from_secs(31));
    driver.rest().await;
    let run = driver.leave().await;
    assert!(matches!(run.tasks()[1].state, TaskState::Finished { outcome: TaskOutcome::Cancelled { .. } }));
    assert!(answer(&run, "w").text.contains("> /root/kid: cancelled"), "{}", run.transcript());
}

#[tokio::test]
async fn after_a_stop_no_task_starts() {
    // Every agent starts others for ever.
    let model = played(|request| {
        let name = |n: usize| format!("{}-{}-{n}", request.path, request.turn);
        (0..3).map(|n| super::played::raw_call(&name(n), "task", &worker_input("n").to_string())).collect()
    });
    let limits = kernel::SessionLimits { total: 40, ..kernel::SessionLimits::default() };
    let stage = scenario().model(Arc::new(model)).limits(limits).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    for _ in 0..10 {
        driver.until("a task", |event| matches!(event, Event::TaskCreated(_))).await;
    }
    driver.stop().await.unwrap();
    let created = driver.tasks().len();
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.tasks().len(), created);
    let closed = run.events().iter().position(|envelope| envelope.entry.event == Event::AdmissionClosed).unwrap();
    assert!(!run.events()[closed..].iter().any(|envelope| matches!(envelope.entry.event, Event::TaskCreated(_))));
    assert!(run.tasks()[1..].iter().all(|task| matches!(task.state, TaskState::Finished { .. })));
}
