//! How agents are started, and where their results go.

use std::sync::Arc;

use model::ModelMessage;
use protocol::api::{SessionCommand, TaskParams};
use protocol::{AgentSpec, Event, MailBody, MailDelivery, SpawnPolicy, TaskOutcome, ToolResultStatus};
use runtime::{SessionFeatures, SessionStart};
use serde_json::json;
use testkit::session::{TestModels, scenario};

use super::played::{answer, calls, input_texts, played, raw_call, requests_of, says, with_fields, worker_input};
use crate::support::rules;

/// A root that starts one worker and repeats its result.
fn delegates(mode: &str) -> String {
    rules(&format!(
        "  - when: {{ agent: worker }}
    answer: [say: 'forty-two']
    usage: {{ input: 100, output: 10 }}
  - when: {{ turn: 1 }}
    answer:
      - call: {{ id: t1, tool: task, input: {{ description: count, prompt: count to forty-two, agent_type: worker, name: counter{mode} }} }}
  - when: {{ turn: 2 }}
    answer: [say: 'it was told ${{answer}}']
  - answer: [say: done]
"
    ))
}

#[tokio::test]
async fn a_sync_task_gives_its_text_with_what_is_known_of_it() {
    let run = scenario().script(&delegates("")).prompt("go").run().await;
    insta::assert_snapshot!(run.transcript());
}

#[tokio::test]
async fn a_background_task_answers_at_once_and_its_result_wakes_the_parent() {
    let run = scenario().script(&delegates(", mode: background")).prompt("go").run().await;
    insta::assert_snapshot!(run.transcript());
}

#[tokio::test]
async fn a_malformed_call_is_refused_with_what_to_do_and_starts_nothing() {
    let wrong = [
        ("{ not json".to_owned(), ""),
        (json!({ "description": "d", "agent_type": "worker", "name": "n" }).to_string(), "prompt"),
        (with_fields(worker_input("n"), json!({ "prompt": 7 })).to_string(), "prompt"),
        (with_fields(worker_input("n"), json!({ "promt": "x" })).to_string(), "promt"),
        (with_fields(worker_input("n"), json!({ "name": " " })).to_string(), "`name` is empty"),
        (with_fields(worker_input("n"), json!({ "mode": "later" })).to_string(), "sync, background"),
        (with_fields(worker_input("n"), json!({ "reasoning_effort": "extreme" })).to_string(), "low, medium, high"),
        (
            with_fields(worker_input("n"), json!({ "expects": { "file": ["a"] } })).to_string(),
            "`files`, `command` and `schema`",
        ),
        (
            with_fields(worker_input("n"), json!({ "expects": { "files": ["a["] } })).to_string(),
            "`files` has an invalid pattern",
        ),
        (
            with_fields(worker_input("n"), json!({ "expects": { "schema": { "type": "oddity" } } })).to_string(),
            "`schema` is not",
        ),
        (
            with_fields(worker_input("n"), json!({ "expects": { "schema": { "$ref": "#" } } })).to_string(),
            "not in its `$defs`",
        ),
    ];
    let inputs: Vec<String> = wrong.iter().map(|(input, _)| input.clone()).collect();
    let model = played(move |request| match request.turn {
        1 => inputs.iter().enumerate().map(|(n, input)| raw_call(&n.to_string(), "task", input)).collect(),
        _ => says("so be it"),
    });
    let run = scenario().model(Arc::new(model)).prompt("go").run().await;
    for (n, (input, word)) in wrong.iter().enumerate() {
        let answer = answer(&run, &n.to_string());
        assert_eq!(answer.status, ToolResultStatus::Refused, "{input}: {}", answer.text);
        assert!(!answer.text.is_empty() && answer.text.contains(word), "{input}: {}", answer.text);
    }
    assert_eq!((run.tasks().len(), run.outcome()), (1, Some(&TaskOutcome::Completed)));
}

#[tokio::test]
async fn unknown_agents_and_models_are_refused_with_the_known_ones() {
    let agent = |name: &str| AgentSpec { name: name.into(), model_invocable: true, ..AgentSpec::default() };
    let hidden = AgentSpec { model_invocable: false, ..agent("hidden") };
    let unserved = AgentSpec { unsupported: vec!["it wants the MCP server `db`".into()], ..agent("db-reader") };
    let model = played(|request| match request.turn {
        1 => calls([
            ("type", "task", with_fields(worker_input("n"), json!({ "agent_type": "wizard" }))),
            ("hidden", "task", with_fields(worker_input("n"), json!({ "agent_type": "hidden" }))),
            ("unserved", "task", with_fields(worker_input("n"), json!({ "agent_type": "DB_reader" }))),
            ("model", "task", with_fields(worker_input("n"), json!({ "model": "acme/huge" }))),
        ]),
        _ => says("so be it"),
    });
    let small = Arc::new(played(|_| says("hi")).named("acme/small"));
    let stage = scenario().model(Arc::new(model)).agent(hidden).agent(unserved);
    let run = stage.models(Arc::new(TestModels::default().with(small))).prompt("go").run().await;
    let refusal = |id: &str| answer(&run, id).text.as_str();
    assert_eq!(refusal("type"), "there is no agent type `wizard`; available: db-reader, worker, reader");
    assert!(refusal("hidden").starts_with("there is no agent type `hidden`"), "{}", refusal("hidden"));
    assert!(refusal("unserved").contains("cannot be started: it wants the MCP server `db`"), "{}", refusal("unserved"));
    let why = "the model `acme/huge` cannot be used: no provider has `acme/huge`; available: played, acme/small";
    assert_eq!(refusal("model"), why);
    assert_eq!(run.tasks().len(), 1);
}

#[tokio::test]
async fn a_child_sees_its_prompt_and_nothing_of_its_parent() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", worker_input("kid"))]),
        ("/root", _) => says("done"),
        _ => says("forty-two"),
    });
    let run = scenario().model(Arc::new(model)).prompt("a secret of the root").run().await;
    let [request] = &requests_of(&run, "/root/kid")[..] else { panic!("{}", run.transcript()) };
    assert_eq!(*request.messages, [ModelMessage::user("do kid")]);
    assert!(!request.system.contains("a secret of the root"));
    assert!(answer(&run, "t").text.contains("> [1 turns, 110 tokens, 0.0 s]\n> It said:\n> forty-two\n"));
}

#[tokio::test]
async fn the_tasks_of_one_message_start_together() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls(["a", "b", "c"].map(|name| (name, "task", worker_input(name)))),
        ("/root", _) => says("done"),
        _ => says("here"),
    });
    let (model, gate) = model.holding(|request| request.path != "/root");
    let stage = scenario().model(Arc::new(model)).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.asked(4).await;
    gate.add_permits(3);
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(requests_of(&run, "/root").len(), 2);
    assert!(["a", "b", "c"].iter().all(|id| answer(&run, id).text.contains("completed")), "{}", run.transcript());
}

#[tokio::test]
async fn a_background_task_of_a_subagent_is_awaited() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", worker_input("middle"))]),
        ("/root/middle", 1) => {
            calls([("u", "task", with_fields(worker_input("leaf"), json!({ "mode": "background" })))])
        }
        ("/root/middle/leaf", _) => says("leaf"),
        (path, _) => says(format!("{path} is done")),
    });
    let run = scenario().model(Arc::new(model)).prompt("go").run().await;
    let told = &answer(&run, "u").text;
    assert!(told.contains("> leaf"), "{}", run.transcript());
    assert!(
        told.starts_with("You cannot start background agents here") && told.contains("so this call waited"),
        "{told}"
    );
    assert_eq!(run.count(|event| matches!(event, Event::MailAdmitted { body: MailBody::Result { .. }, .. })), 0);
}

/// An agent that may start background agents.
fn leader() -> AgentSpec {
    AgentSpec {
        name: "leader".into(),
        model_invocable: true,
        background_spawns: true,
        spawns: SpawnPolicy::Any,
        ..AgentSpec::default()
    }
}

#[tokio::test]
async fn an_agent_with_background_spawns_continues_while_its_agents_work() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([(
            "t",
            "task",
            with_fields(worker_input("middle"), json!({ "agent_type": "leader", "mode": "background" })),
        )]),
        ("/root/middle", 1) => {
            calls([("u", "task", with_fields(worker_input("leaf"), json!({ "mode": "background" })))])
        }
        ("/root/middle/leaf", _) => says("leaf"),
        (path, turn) => says(format!("{path} in turn {turn}")),
    });
    let (model, gate) = model.holding(|request| request.path == "/root/middle/leaf");
    let stage = scenario().model(Arc::new(model)).agent(leader()).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    let ended_task =
        |event: &Event| matches!(event, Event::ActivationEnded { text, .. } if text.contains("middle in turn 2"));
    driver.until("the middle agent's first answer", ended_task).await;
    gate.add_permits(1);
    driver.rest().await;
    let run = driver.leave().await;
    assert!(answer(&run, "u").text.starts_with("Started in the background"), "{}", run.transcript());
    let middle = input_texts(requests_of(&run, "/root/middle").last().unwrap()).concat();
    assert!(middle.contains("leaf"), "the result woke the agent that started it: {middle}");
}

#[tokio::test]
async fn an_agent_that_finishes_with_its_activation_waits_whatever_its_definition_says() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", with_fields(worker_input("middle"), json!({ "agent_type": "leader" })))]),
        ("/root/middle", 1) => {
            calls([("u", "task", with_fields(worker_input("leaf"), json!({ "mode": "background" })))])
        }
        (path, _) => says(format!("{path} is done")),
    });
    let features = SessionFeatures { multi_turn: false, ..SessionFeatures::default() };
    let run = scenario().model(Arc::new(model)).agent(leader()).features(features).prompt("go").run().await;
    assert!(answer(&run, "u").text.contains("so this call waited"), "{}", run.transcript());
}

#[tokio::test]
async fn the_mode_of_a_call_overrides_that_of_the_definition() {
    let shy = AgentSpec { name: "shy".into(), model_invocable: true, background: true, ..AgentSpec::default() };
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([
            ("left", "task", with_fields(worker_input("a"), json!({ "agent_type": "shy" }))),
            ("said", "task", with_fields(worker_input("b"), json!({ "agent_type": "shy", "mode": "sync" }))),
        ]),
        _ => says("done"),
    });
    let run = scenario().model(Arc::new(model)).agent(shy).prompt("go").run().await;
    assert!(answer(&run, "left").text.starts_with("Started in the background as `a`"));
    assert!(answer(&run, "said").text.contains("completed"));
}

#[tokio::test]
async fn another_process_sends_an_awaited_child_to_the_background() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", worker_input("slow"))]),
        ("/root/slow", _) => says("at last"),
        (_, turn) => says(format!("turn {turn}")),
    });
    let (model, gate) = model.holding(|request| request.path == "/root/slow");
    let stage = scenario().model(Arc::new(model)).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.asked(2).await;
    let task = driver.tasks()[1].id;
    driver.command(&SessionCommand::Promote(TaskParams { task })).await;
    driver.until("an end", |event| matches!(event, Event::ActivationEnded { .. })).await;
    gate.add_permits(1);
    driver.rest().await;
    let run = driver.leave().await;
    let words = format!("The user sent /root/slow ({task}) to the background.");
    assert!(answer(&run, "t").text.starts_with(&words), "{}", run.transcript());
    assert!(
        input_texts(requests_of(&run, "/root").last().unwrap()).last().unwrap().contains("> at last"),
        "{}",
        run.transcript()
    );
    assert_eq!(run.text(), "turn 3");
}
