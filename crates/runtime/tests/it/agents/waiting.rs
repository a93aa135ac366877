//! Waiting, which sends no model requests.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use model::{Delta, ModelRequest};
use protocol::{Event, MailDelivery, ToolResultStatus};
use runtime::SessionStart;
use serde_json::{Value, json};
use testkit::session::{PlayedSession, SessionDriver, scenario};
use tokio::sync::Semaphore;

use super::played::{answer, calls, played, requests_of, says, with_fields, worker_input};

/// A root that starts a quick and a slow agent in the background, and then waits like this.
fn waits(wait: Value) -> impl Fn(&ModelRequest) -> Vec<Delta> {
    move |request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls(
            ["quick", "slow"]
                .map(|name| (name, "task", with_fields(worker_input(name), json!({ "mode": "background" })))),
        ),
        ("/root", 2) => calls([("w", "wait", wait.clone())]),
        (path, _) => says(format!("{path} is done")),
    }
}

async fn waiting(wait: Value) -> (SessionDriver, Arc<Semaphore>) {
    let (model, gate) = played(waits(wait)).holding(|request| request.path == "/root/slow");
    let stage = scenario().model(Arc::new(model)).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until("a wait", |event| matches!(event, Event::WaitBegan { .. })).await;
    driver.asked(4).await;
    (driver, gate)
}

async fn finish(mut driver: SessionDriver) -> PlayedSession {
    driver.rest().await;
    driver.leave().await
}

#[tokio::test]
async fn waiting_for_any_ends_with_the_first() {
    let (mut driver, gate) = waiting(json!({ "on": ["quick", "slow"], "mode": "any" })).await;
    driver.until("the end of it", |event| matches!(event, Event::WaitEnded { .. })).await;
    gate.add_permits(1);
    let run = finish(driver).await;
    assert!(answer(&run, "w").text.contains("> /root/quick: idle\n> /root/slow: running\n"), "{}", run.transcript());
}

#[tokio::test]
async fn waiting_for_all_asks_no_model_meanwhile_and_wakes_once() {
    let (driver, gate) = waiting(json!({})).await;
    let before = driver.model().requests().iter().filter(|request| request.path == "/root").count();
    gate.add_permits(1);
    let run = finish(driver).await;
    assert!(answer(&run, "w").text.contains("> /root/slow: idle\n"), "{}", run.transcript());
    assert_eq!((before, requests_of(&run, "/root").len()), (2, 3));
    let results = super::played::input_texts(requests_of(&run, "/root").last().unwrap()).join("\n");
    assert!(results.contains("> /root/quick is done") && results.contains("> /root/slow is done"), "{results}");
}

#[tokio::test]
async fn waiting_ends_at_its_timeout() {
    let (mut driver, gate) = waiting(json!({ "on": ["slow"], "timeout_secs": 20 })).await;
    driver.stage().clock().advance(Duration::from_secs(21));
    driver.until("the end of it", |event| matches!(event, Event::WaitEnded { .. })).await;
    gate.add_permits(1);
    let run = finish(driver).await;
    assert!(answer(&run, "w").text.contains("> /root/slow: running\n"), "{}", run.transcript());
}

#[tokio::test]
async fn an_hour_of_waiting_asks_no_model() {
    let (mut driver, gate) = waiting(json!({ "on": ["slow"], "timeout_secs": 3_600 })).await;
    let asked_so_far = driver.model().requests().len();
    for _minute in 0..59 {
        driver.stage().clock().advance(Duration::from_secs(60));
        tokio::task::yield_now().await;
    }
    assert_eq!(driver.model().requests().len(), asked_so_far);
    driver.stage().clock().advance(Duration::from_secs(120));
    driver.until("the end of it", |event| matches!(event, Event::WaitEnded { .. })).await;
    gate.add_permits(1);
    let run = finish(driver).await;
    assert!(answer(&run, "w").text.contains("> /root/slow: running\n"), "{}", run.transcript());
    assert_eq!(run.count(|event| matches!(event, Event::WaitBegan { .. })), 1);
    let asked = run.events().iter().filter(|envelope| matches!(envelope.entry.event, Event::TurnBegun { .. }));
    let ended = run.events().iter().find(|envelope| matches!(envelope.entry.event, Event::WaitEnded { .. })).unwrap();
    assert_eq!(asked.filter(|turn| turn.seq < ended.seq).count(), asked_so_far);
}

#[tokio::test]
async fn a_wait_continues_under_the_next_owner() {
    let (driver, gate) = waiting(json!({ "on": ["slow"] })).await;
    let stage = driver.stage().clone();
    let id = driver.crash().await.id();
    let driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    gate.add_permits(2);
    let run = finish(driver).await;
    assert!(answer(&run, "w").text.contains("> /root/slow: idle\n"), "{}", run.transcript());
    assert_eq!(run.count(|event| matches!(event, Event::WaitBegan { .. })), 1);
}

#[tokio::test]
async fn there_may_be_nothing_to_wait_for() {
    let model = played(|request| match request.turn {
        1 => calls([
            ("none", "wait", json!({})),
            ("who", "wait", json!({ "on": ["nobody"] })),
            ("how", "wait", json!({ "mode": "some" })),
            ("what", "until", json!({ "command": " " })),
        ]),
        _ => says("done"),
    });
    let run = scenario().model(Arc::new(model)).allow_all().prompt("go").run().await;
    assert_eq!(answer(&run, "none").text, "nothing is running");
    assert_eq!(answer(&run, "who").text, "no agent or command is called `nobody`; none was started");
    assert_eq!(["who", "how", "what"].map(|id| answer(&run, id).status), [ToolResultStatus::Refused; 3]);
}

#[tokio::test]
async fn a_command_is_run_until_it_succeeds_and_no_model_is_asked() {
    let model = played(|request| match request.turn {
        1 => calls([("u", "until", json!({ "command": "echo tried >> tries; [ -e go ]", "every_secs": 1 }))]),
        _ => says("done"),
    });
    let stage = scenario().model(Arc::new(model)).allow_all().ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    crate::support::until_file(&stage.path("tries")).await;
    fs::write(stage.path("go"), "").unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(answer(&run, "u").text, "`echo tried >> tries; [ -e go ]` succeeded");
    assert_eq!(requests_of(&run, "/root").len(), 2);
}

#[tokio::test]
async fn a_monitor_is_listed_as_a_monitor_with_the_command_itself() {
    let command = "echo tried >> tries; [ -e go ] || exit 3";
    let model = played(move |request| match request.turn {
        1 => calls([("u", "until", json!({ "command": command, "every_secs": 1 }))]),
        2 => calls([("l", "list_agents", json!({})), ("r", "read_shell", json!({ "name": "until" }))]),
        _ => says("done"),
    });
    let stage = scenario().model(Arc::new(model)).allow_all().ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    // An `exit` in the command ends that run of it and not the monitor.
    crate::support::until_file(&stage.path("tries")).await;
    let monitor = driver.tasks().remove(1);
    assert_eq!((monitor.kind.name(), monitor.prompt.as_deref()), ("monitor", Some(command)));
    fs::write(stage.path("go"), "").unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(answer(&run, "u").status, ToolResultStatus::Done, "{}", run.transcript());
    assert!(answer(&run, "l").text.contains("/root/until (monitor): "), "{}", answer(&run, "l").text);
    assert_eq!(answer(&run, "r").status, ToolResultStatus::Done, "{}", run.transcript());
}

#[tokio::test]
async fn a_monitor_keeps_the_output_of_all_its_runs() {
    let command = "n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n; echo run $n; [ $n = 3 ]";
    let model = played(move |request| match request.turn {
        1 => calls([("u", "until", json!({ "command": command, "every_secs": 1 }))]),
        2 => calls([("r", "read_shell", json!({ "name": "until" }))]),
        _ => says("done"),
    });
    let run = scenario().model(Arc::new(model)).allow_all().prompt("go").run().await;
    let read = &answer(&run, "r").text;
    assert!(read.contains("run 1\nrun 2\nrun 3"), "{read}");
}

#[tokio::test]
async fn a_command_is_run_by_the_shell_that_it_was_judged_for() {
    // bash sees one program and its argument; a plain shell sees the end of a quote, and another command.
    let trick = r"echo $'\'; touch witness #'";
    let model = played(move |request| match request.turn {
        1 => calls([("u", "until", json!({ "command": trick }))]),
        _ => says("done"),
    });
    let scene = scenario().model(Arc::new(model)).rule(protocol::RuleEffect::Allow, "shell(echo:*)");
    let run = scene.prompt("go").run().await;
    assert_eq!(answer(&run, "u").status, ToolResultStatus::Done, "{}", run.transcript());
    assert_eq!(run.file("witness"), None);
}

#[tokio::test]
async fn a_command_that_never_succeeds_times_out() {
    let model = played(|request| match request.turn {
        1 => calls([("u", "until", json!({ "command": "exit 1", "every_secs": 600, "timeout_secs": 60 }))]),
        _ => says("done"),
    });
    let stage = scenario().model(Arc::new(model)).allow_all().ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until("a wait", |event| matches!(event, Event::WaitBegan { .. })).await;
    stage.clock().advance(Duration::from_secs(61));
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(answer(&run, "u").text, "`exit 1` did not succeed within 60 s");
    assert_eq!(run.count(|event| matches!(event, Event::TaskFinished { .. })), 1, "{}", run.transcript());
}

/// A12: a result in a call's answer is not delivered again.
#[tokio::test]
async fn a_result_that_was_waited_for_is_delivered_once() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", with_fields(worker_input("kid"), json!({ "mode": "background" })))]),
        ("/root", 2) => calls([("r", "read_agent", json!({ "agent": "kid", "wait": true }))]),
        (path, _) => says(format!("{path} is done")),
    });
    let run = scenario().model(Arc::new(model)).allow_all().prompt("go").run().await;
    let requests = requests_of(&run, "/root");
    let last = format!("{:?}", requests.last().unwrap().messages);
    assert_eq!((requests.len(), last.matches("/root/kid is done").count()), (3, 1), "{}", run.transcript());
    assert!(answer(&run, "r").text.contains("> /root/kid is done"), "{}", run.transcript());
}

/// A12: a turn can be waited for, and not only the end.
#[tokio::test]
async fn a_reader_can_wait_for_a_turn() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", with_fields(worker_input("kid"), json!({ "mode": "background" })))]),
        ("/root", 2) => calls([("r", "read_agent", json!({ "agent": "kid", "wait": true, "since_turn": 1 }))]),
        ("/root/kid", 1 | 2) => calls([("l", "list_shells", json!({}))]),
        (path, turn) => says(format!("{path} says {turn}")),
    });
    let (model, gate) = model.holding(|request| request.path == "/root/kid" && request.turn >= 2);
    let stage = scenario().model(Arc::new(model)).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until("a wait", |event| matches!(event, Event::WaitBegan { .. })).await;
    gate.add_permits(1);
    driver.until("the answer", |event| matches!(event, Event::CallAnswered { call, .. } if call.0 == "r")).await;
    gate.add_permits(1);
    let run = finish(driver).await;
    let result = &answer(&run, "r").text;
    assert!(result.contains("running") && result.contains("turn 2: [calls list_shells]"), "{result}");
}
