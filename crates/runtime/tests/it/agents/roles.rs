//! What agents may do: their roles, under one ceiling.

use std::sync::Arc;

use model::{Delta, ModelRequest};
use protocol::{AgentSpec, CallId, Event, MailDelivery, PermissionMode, RuleEffect, SpawnPolicy, ToolResultStatus};
use runtime::SessionStart;
use serde_json::json;
use testkit::session::scenario;

use super::played::{answer, calls, played, requests_of, says, tools, with_fields, worker_input};

fn agent(name: &str, tools: &[&str], spawns: SpawnPolicy) -> AgentSpec {
    let tools = Some(tools.iter().map(|tool| (*tool).to_owned()).collect());
    AgentSpec { name: name.into(), tools, spawns, model_invocable: true, ..AgentSpec::default() }
}

#[tokio::test]
async fn a_coordinator_without_tools_starts_a_reader_that_greps() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", with_fields(worker_input("lead"), json!({ "agent_type": "lead" })))]),
        ("/root/lead", 1) => calls([
            ("own", "grep", json!({ "pattern": "needle" })),
            ("u", "task", with_fields(worker_input("eye"), json!({ "agent_type": "reader" }))),
            ("w", "task", worker_input("hand")),
        ]),
        ("/root/lead/eye", 1) => calls([
            ("g", "grep", json!({ "pattern": "needle" })),
            ("v", "task", worker_input("hand")),
            ("e", "create", json!({ "path": "x", "content": "x" })),
        ]),
        (path, _) => says(format!("{path} is done")),
    });
    let lead = agent("lead", &["task"], SpawnPolicy::Only(vec!["reader".into()]));
    let run =
        scenario().model(Arc::new(model)).agent(lead).file("a.txt", "a needle\n").allow_all().prompt("go").run().await;
    let status = |id: &str| answer(&run, id).status;
    assert_eq!((status("g"), status("u")), (ToolResultStatus::Done, ToolResultStatus::Done), "{}", run.transcript());
    assert_eq!(["own", "w", "v", "e"].map(status), [ToolResultStatus::Refused; 4]);
    assert!(answer(&run, "g").text.contains("a needle"));
    assert_eq!(answer(&run, "w").text, "a `lead` agent may not start `worker`, only: reader");
    assert_eq!(tools(&requests_of(&run, "/root/lead/eye")[0]), ["view", "grep", "glob"]);
    assert_eq!(run.file("x"), None);
}

#[tokio::test]
async fn an_agent_without_a_shell_runs_no_command_through_another_tool() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([
            ("a", "task", with_fields(worker_input("lead"), json!({ "agent_type": "lead" }))),
            ("b", "task", with_fields(worker_input("tame"), json!({ "agent_type": "tame" }))),
        ]),
        ("/root/lead" | "/root/tame", 1) => {
            let id = |what: &str| format!("{}-{what}", request.path.trim_start_matches("/root/"));
            let expects = json!({ "expects": { "command": "touch witness" } });
            calls([
                (id("u").as_str(), "until", json!({ "command": "touch witness" })),
                (id("e").as_str(), "task", with_fields(worker_input("kid"), expects)),
            ])
        }
        (path, _) => says(format!("{path} is done")),
    });
    let lead = agent("lead", &["task"], SpawnPolicy::Any);
    let tame = AgentSpec { tools: None, denied: vec!["shell".into()], ..agent("tame", &[], SpawnPolicy::Any) };
    let run = scenario().model(Arc::new(model)).agent(lead).agent(tame).allow_all().prompt("go").run().await;
    assert_eq!((run.file("witness"), run.tasks().len()), (None, 3), "{}", run.transcript());
    for name in ["lead", "tame"] {
        let results = ["u", "e"].map(|what| answer(&run, &format!("{name}-{what}")));
        assert_eq!(results.map(|results| results.status), [ToolResultStatus::Refused, ToolResultStatus::Denied]);
        assert!(results[1].text.contains("this agent does not have the tool `shell`"), "{}", results[1].text);
    }
}

#[tokio::test]
async fn no_agent_has_a_wider_mode_than_one_above_it() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("a", "task", with_fields(worker_input("plan"), json!({ "agent_type": "planner" })))]),
        ("/root/plan", 1) => calls([("b", "task", with_fields(worker_input("bold"), json!({ "agent_type": "bold" })))]),
        ("/root/plan/bold", 1) => calls([("c", "task", worker_input("hand"))]),
        ("/root/plan/bold/hand", 1) => calls([("d", "create", json!({ "path": "x", "content": "x" }))]),
        (path, _) => says(format!("{path} is done")),
    });
    let in_mode =
        |name: &str, mode| AgentSpec { permission: Some(mode), tools: None, ..agent(name, &[], SpawnPolicy::Any) };
    let scene = scenario().model(Arc::new(model)).agent(in_mode("planner", PermissionMode::Plan));
    let run = scene.agent(in_mode("bold", PermissionMode::AllowAll)).allow_all().prompt("go").run().await;
    assert_eq!(answer(&run, "d").status, ToolResultStatus::Denied, "{}", run.transcript());
    assert_eq!(run.file("x"), None);
}

/// Every agent tries the forbidden command, then starts one below it.
fn tries(request: &ModelRequest) -> Vec<Delta> {
    let depth = request.path.matches('/').count();
    match (request.turn, depth) {
        (1, _) => calls([(format!("s{depth}").as_str(), "shell", json!({ "command": "touch forbidden" }))]),
        (2, ..=5) => {
            let mode = if depth == 1 { "background" } else { "sync" };
            calls([(format!("t{depth}").as_str(), "task", with_fields(worker_input("n"), json!({ "mode": mode })))])
        }
        _ => says("done"),
    }
}

#[tokio::test]
async fn what_the_root_may_not_do_no_agent_below_it_may_do() {
    let model = played(tries);
    let (model, gate) = model.holding(|request| request.path.matches('/').count() == 6 && request.turn == 1);
    let stage = scenario().model(Arc::new(model)).allow_all().rule(RuleEffect::Deny, "shell(touch:*)").ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    let deepest = |event: &Event| matches!(event, Event::TaskCreated(spec) if spec.call == Some(CallId("t5".into())));
    driver.until("the deepest", deepest).await;
    let id = driver.crash().await.id();
    gate.add_permits(9);
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.tasks().len(), 6, "{}", run.transcript());
    for depth in 1..=6 {
        assert_eq!(answer(&run, &format!("s{depth}")).status, ToolResultStatus::Denied, "{}", run.transcript());
    }
    assert_eq!(run.file("forbidden"), None);
}
