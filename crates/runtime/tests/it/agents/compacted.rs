//! A conversation that is compacted at every turn loses none of its agents.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Delta, ModelFacts, ModelRequest};
use protocol::{ContentBlock, Event, MailDelivery, TaskOutcome, TaskState};
use runtime::SessionStart;
use serde_json::json;
use testkit::session::{PlayedSession, SessionFixture, scenario};

use super::played::{calls, input_texts, played, requests_of, says, tools, with_fields, worker_input};

/// A root with a long conversation: it starts two agents in the background, loads tools, asks one for more and waits.
fn job(request: &ModelRequest) -> Vec<Delta> {
    let look = |n: u32| (format!("v{n}"), json!({ "path": "big.txt" }));
    let turn = request.turn;
    let (id, path) = look(turn);
    let with_view = |more: (&str, &str, serde_json::Value)| calls([more, (id.as_str(), "view", path.clone())]);
    match (request.path.as_str(), turn) {
        ("/root", 1) => with_view(("a", "task", with_fields(worker_input("a"), json!({ "mode": "background" })))),
        ("/root", 2) => with_view(("b", "task", with_fields(worker_input("b"), json!({ "mode": "background" })))),
        ("/root", 3) => with_view(("s", "tool_search", json!({ "query": "wait read_agent write_agent" }))),
        ("/root", 4) => with_view(("wa", "wait", json!({ "on": ["a"] }))),
        ("/root", 5) => with_view(("m", "write_agent", json!({ "to": ["a"], "message": "more" }))),
        ("/root", 6) => with_view(("wb", "wait", json!({ "on": ["a"] }))),
        ("/root", 7) => with_view(("r", "read_agent", json!({ "agent": "a" }))),
        ("/root", 8) => with_view(("wc", "wait", json!({}))),
        ("/root", _) => says("all is done"),
        (path, _) if path.ends_with("/leaf") => says("leaf"),
        (path, 1) => {
            let mut answer = says("first");
            answer.extend(calls([(format!("{path}-u").as_str(), "task", worker_input("leaf"))]));
            answer
        }
        (path, turn) => says(format!("{path} says {turn}")),
    }
}

fn stage(context: Option<u64>) -> (SessionFixture, Arc<tokio::sync::Semaphore>) {
    let facts = ModelFacts { context_tokens: context, max_output_tokens: 200, ..ModelFacts::UNKNOWN };
    let model = played(job).with_facts(facts).without_usage();
    let (model, gate) = model.holding(|request| request.path == "/root/b" && request.turn == 1);
    let big: String = (0..150).map(|n| format!("line {n} of a file that is long for its meaning\n")).collect();
    (scenario().model(Arc::new(model)).file("big.txt", &big).allow_all().ready(), gate)
}

async fn run(context: Option<u64>) -> PlayedSession {
    let (stage, gate) = stage(context);
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("Build it, then tidy up.", MailDelivery::FollowUp).await;
    driver.until("the last wait", |event| matches!(event, Event::CallStarted { call } if call.0 == "wc")).await;
    gate.add_permits(1);
    driver.rest().await;
    driver.leave().await
}

fn root_answers(run: &PlayedSession) -> Vec<&[ContentBlock]> {
    let root = run.tasks()[0].id;
    let events = run.events().iter().filter(|envelope| envelope.entry.task == root);
    let said = events.filter_map(|envelope| match &envelope.entry.event {
        Event::TurnAnswered { content, .. } => Some(content.as_slice()),
        _other => None,
    });
    said.collect()
}

/// The state and result of every task, by its path.
fn states(run: &PlayedSession) -> BTreeMap<&str, (&TaskState, Option<&str>)> {
    run.tasks().iter().map(|task| (task.path.as_str(), (&task.state, task.result.as_deref()))).collect()
}

fn digests(run: &PlayedSession) -> Vec<&str> {
    let root = run.tasks()[0].id;
    let events = run.events().iter().filter(|envelope| envelope.entry.task == root);
    let digests = events.filter_map(|envelope| match &envelope.entry.event {
        Event::Compacted(compaction) => compaction.digest.as_deref(),
        _other => None,
    });
    digests.collect()
}

#[tokio::test]
async fn compaction_at_every_turn_changes_no_work_and_forgets_no_agent() {
    let unlimited = run(None).await;
    assert_eq!(unlimited.outcome(), Some(&TaskOutcome::Completed), "{}", unlimited.transcript());
    let window = unlimited.events().iter().find_map(|envelope| match &envelope.entry.event {
        Event::TurnBegun { reserved, quoted, .. } => Some(reserved.tokens - u64::from(quoted.output)),
        _other => None,
    });
    let small = run(window).await;
    assert_eq!(small.outcome(), Some(&TaskOutcome::Completed), "{}", small.transcript());
    assert_eq!(root_answers(&small), root_answers(&unlimited));
    assert_eq!(states(&small), states(&unlimited));
    let digests = digests(&small);
    assert!(digests.len() >= 6, "{}", small.transcript());
    let [a, b] = ["/root/a", "/root/b"].map(|path| small.tasks().iter().find(|task| task.path == path).unwrap().id);
    for digest in &digests[1..] {
        assert!(
            digest.contains(&format!("`a`, {a}: ")) && digest.contains("> - the agent main at /root, task-"),
            "{digest}"
        );
    }
    let last = digests.last().unwrap();
    assert!(last.contains(&format!("`b`, {b}: idle")), "{last}");
    assert!(last.contains("> - tools loaded: read_agent, wait, write_agent"), "{last}");
    // Each result was delivered when it arrived.
    let root = requests_of(&small, "/root");
    for result in ["> /root/a says 2", "> /root/a says 3", "> /root/b says 2"] {
        assert!(root.iter().any(|request| input_texts(request).iter().any(|text| text.contains(result))), "{result}");
    }
    assert_eq!(small.count(|event| matches!(event, Event::MailExpired { .. })), 0);
    assert!(root[4..].iter().all(|request| tools(request).contains(&"wait")));
}

#[tokio::test]
async fn a_childs_compaction_leaves_its_parent_alone() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", worker_input("kid"))]),
        ("/root", _) => says("done"),
        (_, turn @ ..=5) => calls([(format!("v{turn}").as_str(), "view", json!({ "path": "big.txt" }))]),
        _ => says("read it all"),
    });
    let facts = ModelFacts { context_tokens: Some(6_000), max_output_tokens: 200, ..ModelFacts::UNKNOWN };
    let big: String = (0..150).map(|n| format!("line {n} of a file that is long for its meaning\n")).collect();
    let scenario = scenario().model(Arc::new(model.with_facts(facts).without_usage())).file("big.txt", &big);
    let run = scenario.prompt("go").run().await;
    let compacted = |id| {
        let of = run.events().iter().filter(|envelope| envelope.entry.task == id);
        of.filter(|envelope| matches!(envelope.entry.event, Event::Compacted(_))).count()
    };
    assert!(compacted(run.tasks()[1].id) > 0 && compacted(run.tasks()[0].id) == 0, "{}", run.transcript());
    assert!(input_texts(requests_of(&run, "/root").last().unwrap()).join("\n").contains("> read it all"));
}
