//! How agents are started, and where their results go.

use std::sync::Arc;

use model::ModelMessage;
use protocol::api::{SessionCommand, TaskParams};
use protocol::{AgentSpec, Event, MailBody, MailDelivery, TaskOutcome, ToolResultStatus};
use runtime::SessionStart;
use serde_json::json;
use testkit::session::{TestModels, scenario};

use super::played::{answer, asked, calls, heard, played, raw, says, with, work};
use crate::support::rules;

/// A root that starts one worker and tells what it said.
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
        (with(work("n"), json!({ "prompt": 7 })).to_string(), "prompt"),
        (with(work("n"), json!({ "promt": "x" })).to_string(), "promt"),
        (with(work("n"), json!({ "name": " " })).to_string(), "`name` is empty"),
        (with(work("n"), json!({ "mode": "later" })).to_string(), "sync, background"),
        (with(work("n"), json!({ "reasoning_effort": "extreme" })).to_string(), "low, medium, high"),
        (with(work("n"), json!({ "expects": { "file": ["a"] } })).to_string(), "`files`, `command` and `schema`"),
        (with(work("n"), json!({ "expects": { "files": ["a["] } })).to_string(), "`files` has an invalid pattern"),
        (with(work("n"), json!({ "expects": { "schema": { "type": "oddity" } } })).to_string(), "`schema` is not"),
        (with(work("n"), json!({ "expects": { "schema": { "$ref": "#" } } })).to_string(), "not in its `$defs`"),
    ];
    let inputs: Vec<String> = wrong.iter().map(|(input, _)| input.clone()).collect();
    let model = played(move |request| match request.turn {
        1 => inputs.iter().enumerate().map(|(n, input)| raw(&n.to_string(), "task", input)).collect(),
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
async fn what_there_is_not_is_refused_with_what_there_is() {
    let agent = |name: &str| AgentSpec { name: name.into(), model_invocable: true, ..AgentSpec::default() };
    let hidden = AgentSpec { model_invocable: false, ..agent("hidden") };
    let unserved = AgentSpec { unsupported: vec!["it wants the MCP server `db`".into()], ..agent("db-reader") };
    let model = played(|request| match request.turn {
        1 => calls([
            ("type", "task", with(work("n"), json!({ "agent_type": "wizard" }))),
            ("hidden", "task", with(work("n"), json!({ "agent_type": "hidden" }))),
            ("unserved", "task", with(work("n"), json!({ "agent_type": "DB_reader" }))),
            ("model", "task", with(work("n"), json!({ "model": "acme/huge" }))),
        ]),
        _ => says("so be it"),
    });
    let small = Arc::new(played(|_| says("hi")).named("acme/small"));
    let stage = scenario().model(Arc::new(model)).agent(hidden).agent(unserved);
    let run = stage.models(Arc::new(TestModels::default().with(small))).prompt("go").run().await;
    let told = |id: &str| answer(&run, id).text.as_str();
    assert_eq!(told("type"), "there is no agent type `wizard`; there are: db-reader, worker, reader");
    assert!(told("hidden").starts_with("there is no agent type `hidden`"), "{}", told("hidden"));
    assert!(told("unserved").contains("cannot be started: it wants the MCP server `db`"), "{}", told("unserved"));
    let why = "the model `acme/huge` cannot be used: no provider has `acme/huge`; there are: played, acme/small";
    assert_eq!(told("model"), why);
    assert_eq!(run.tasks().len(), 1);
}

#[tokio::test]
async fn a_child_sees_its_prompt_and_nothing_of_its_parent() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", work("kid"))]),
        ("/root", _) => says("done"),
        _ => says("forty-two"),
    });
    let run = scenario().model(Arc::new(model)).prompt("a secret of the root").run().await;
    let [request] = &asked(&run, "/root/kid")[..] else { panic!("{}", run.transcript()) };
    assert_eq!(*request.messages, [ModelMessage::user("do kid")]);
    assert!(!request.system.contains("a secret of the root"));
    assert!(answer(&run, "t").text.contains("> [1 turns, 110 tokens, 0.0 s]\n> It said:\n> forty-two\n"));
}

#[tokio::test]
async fn the_tasks_of_one_message_start_together() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls(["a", "b", "c"].map(|name| (name, "task", work(name)))),
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
    assert_eq!(asked(&run, "/root").len(), 2);
    assert!(["a", "b", "c"].iter().all(|id| answer(&run, id).text.contains("completed")), "{}", run.transcript());
}

#[tokio::test]
async fn in_the_background_inside_an_agent_is_not_in_the_background() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", work("middle"))]),
        ("/root/middle", 1) => calls([("u", "task", with(work("leaf"), json!({ "mode": "background" })))]),
        ("/root/middle/leaf", _) => says("leaf"),
        (path, _) => says(format!("{path} is done")),
    });
    let run = scenario().model(Arc::new(model)).prompt("go").run().await;
    assert!(answer(&run, "u").text.contains("> leaf"), "{}", run.transcript());
    assert_eq!(run.count(|event| matches!(event, Event::MailAdmitted { body: MailBody::Result { .. }, .. })), 0);
}

#[tokio::test]
async fn a_definition_says_where_results_go_unless_the_call_does() {
    let shy = AgentSpec { name: "shy".into(), model_invocable: true, background: true, ..AgentSpec::default() };
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([
            ("left", "task", with(work("a"), json!({ "agent_type": "shy" }))),
            ("said", "task", with(work("b"), json!({ "agent_type": "shy", "mode": "sync" }))),
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
        ("/root", 1) => calls([("t", "task", work("slow"))]),
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
    assert!(heard(asked(&run, "/root").last().unwrap()).last().unwrap().contains("> at last"), "{}", run.transcript());
    assert_eq!(run.text(), "turn 3");
}
