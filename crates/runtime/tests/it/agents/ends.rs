//! When an agent counts as completed.

use std::sync::Arc;

use protocol::{Event, FailKind, MailDelivery, TaskOutcome, TaskState};
use runtime::SessionStart;
use serde_json::json;
use testkit::session::scenario;

use super::played::{answer, calls, input_texts, played, requests_of, says, with_fields, worker_input};
use crate::support::rules;

#[tokio::test]
async fn an_agent_that_dies_in_the_middle_of_an_answer_is_not_complete() {
    let script = rules(
        "  - when: { path: /root, turn: 1 }
    answer:
      - call: { id: t, tool: task, input: { description: d, prompt: p, agent_type: worker, name: kid } }
  - when: { path: /root/kid, turn: 1 }
    answer:
      - say: I begin.
      - call: { tool: list_shells }
  - when: { path: /root/kid }
    answer:
      - say: The result is
      - fail: { class: terminal, message: the line is dead }
  - answer: [say: noted]
",
    );
    let run = scenario().script(&script).prompt("go").run().await;
    let Some(TaskOutcome::Failed { kind: FailKind::Model, .. }) = &run.tasks()[1].last_outcome else {
        panic!("{}", run.transcript())
    };
    let result = &answer(&run, "t").text;
    assert!(result.contains("): failed (Model: the line is dead)") && !result.contains("The result is"), "{result}");
    assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
}

#[tokio::test]
async fn an_answer_that_is_cut_off_at_its_limit_or_empty_is_not_complete() {
    for (steps, problem) in
        [("[say: and so on, stop: length]", "reached its output limit"), ("[]", "ended without an answer")]
    {
        let script = rules(&format!(
            "  - when: {{ path: /root, turn: 1 }}
    answer:
      - call: {{ id: t, tool: task, input: {{ description: d, prompt: p, agent_type: worker, name: kid }} }}
  - when: {{ path: /root/kid }}
    answer: {}
  - answer: [say: noted]
",
            steps
        ));
        let run = scenario().script(&script).prompt("go").run().await;
        let result = &answer(&run, "t").text;
        assert!(result.contains("): failed (NoAnswer: ") && result.contains(problem), "{result}");
    }
}

#[tokio::test]
async fn every_waiter_gets_the_outcome_of_an_agent_that_is_stopped_from_elsewhere() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", worker_input("kid"))]),
        (path, _) => says(format!("{path} is done")),
    });
    let (model, _gate) = model.holding(|request| request.path == "/root/kid");
    let stage = scenario().model(Arc::new(model)).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.asked(2).await;
    let params = protocol::api::StopTaskParams { task: driver.tasks()[1].id, how: protocol::CancelMode::Abort };
    let command = protocol::api::SessionCommand::StopTask(params);
    driver.command(&command).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert!(answer(&run, "t").text.contains("): cancelled\n"), "{}", run.transcript());
    assert!(matches!(run.tasks()[1].state, TaskState::Finished { outcome: TaskOutcome::Cancelled { .. } }));
    assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
}

#[tokio::test]
async fn results_that_arrive_together_are_delivered_once_each() {
    let names = ["a", "b", "c"];
    let model = played(move |request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => {
            calls(names.map(|name| (name, "task", with_fields(worker_input(name), json!({ "mode": "background" })))))
        }
        (path, _) => says(format!("{path} is done")),
    });
    let (model, gate) = model.holding(|request| request.path == "/root" && request.turn == 2);
    let stage = scenario().model(Arc::new(model)).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    for _ in names {
        driver.until("an end", |event| matches!(event, Event::ActivationEnded { .. })).await;
    }
    gate.add_permits(9);
    driver.rest().await;
    let run = driver.leave().await;
    let heard = input_texts(requests_of(&run, "/root").last().unwrap());
    for name in names {
        let result = format!("> /root/{name} is done");
        assert_eq!(heard.iter().map(|text| text.matches(&result).count()).sum::<usize>(), 1, "{heard:?}");
    }
}

#[tokio::test]
async fn a_result_that_an_owner_did_not_deliver_is_delivered_by_the_next_one() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", with_fields(worker_input("kid"), json!({ "mode": "background" })))]),
        (path, _) => says(format!("{path} is done")),
    });
    let (model, gate) = model.holding(|request| request.path == "/root" && request.turn == 2);
    let stage = scenario().model(Arc::new(model)).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until("a result", |event| matches!(event, Event::ActivationEnded { .. })).await;
    let id = driver.crash().await.id();
    gate.add_permits(9);
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    let run = driver.leave().await;
    let result = input_texts(requests_of(&run, "/root").last().unwrap()).join("\n");
    assert_eq!(result.matches("> /root/kid is done").count(), 1, "{result}");
    assert_eq!(requests_of(&run, "/root/kid").len(), 1, "{}", run.transcript());
}

/// B9: an empty answer is asked about once.
#[tokio::test]
async fn an_empty_answer_is_asked_about_once() {
    let model = played(|request| if request.turn == 1 { Vec::new() } else { says("here it is") });
    let run = scenario().model(Arc::new(model)).prompt("go").run().await;
    assert_eq!((run.text(), run.outcome()), ("here it is", Some(&TaskOutcome::Completed)), "{}", run.transcript());
    assert!(input_texts(requests_of(&run, "/root").last().unwrap()).pop().unwrap().contains("Your answer was empty"));
}

/// B9: a model may use the tool names of another product.
#[tokio::test]
async fn calls_with_tool_names_of_other_products_are_run() {
    let model = played(|request| match request.turn {
        1 => calls([
            ("w", "Write", json!({ "file_path": "a.txt", "content": "one\n" })),
            ("e", "str_replace", json!({ "path": "a.txt", "old_str": "one", "new_str": "two" })),
            ("b", "Bash", json!({ "command": "cat a.txt", "timeout": 5000 })),
            ("r", "Read", json!({ "file_path": "a.txt" })),
            ("u", "read", json!({ "path": "a.txt" })),
        ]),
        _ => says("done"),
    });
    let run = scenario().model(Arc::new(model)).allow_all().prompt("go").run().await;
    assert_eq!(run.file("a.txt").as_deref(), Some("two\n"), "{}", run.transcript());
    assert!(answer(&run, "b").text.contains("two") && answer(&run, "r").text.contains("two"), "{}", run.transcript());
    let unknown = &answer(&run, "u").text;
    assert!(unknown.starts_with("Not run: there is no tool `read`; use `view`."), "{unknown}");
}
