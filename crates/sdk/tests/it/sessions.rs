//! Sessions of a program: prompts, agents, tools, decisions, and resumption.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bosun_sdk::{
    Agent, AgentSpec, AskDecision, AskSubject, Bosun, Budget, BusMessage, Error, Event, FunctionTool, SessionBuilder,
    TaskOutcome, TaskState,
};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::timeout;

struct SdkFixture {
    bosun: Bosun,
    home: TempDir,
    folder: TempDir,
}

/// Creates a home, and a folder with a scripted model that has these rules.
fn fixture(rules: &str) -> SdkFixture {
    let (home, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    std::fs::write(folder.path().join("model.yaml"), format!("version: 1\nrules:\n{rules}")).unwrap();
    SdkFixture { bosun: Bosun::open(home.path()).unwrap(), home, folder }
}

impl SdkFixture {
    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn session(&self) -> SessionBuilder {
        self.bosun.session().model("script/model.yaml").cwd(self.folder())
    }
}

const LOOKS_UP: &str = "
  - when: { turn: 1 }
    answer: [call: { id: c, tool: tide, input: { port: Kiel } }]
  - answer: [say: 'heard ${answer}']
";

/// A tool that counts its calls.
fn tide(calls: &Arc<AtomicUsize>) -> FunctionTool {
    let calls = Arc::clone(calls);
    let schema = json!({ "type": "object", "properties": { "port": { "type": "string" } }, "required": ["port"] });
    FunctionTool::new("tide", "Tells the tide of a port.", schema, move |input| {
        calls.fetch_add(1, Ordering::SeqCst);
        async move { Ok(format!("high water at {}", input["port"].as_str().unwrap_or("?"))) }
    })
}

#[tokio::test]
async fn a_tool_of_the_program_runs_when_a_rule_allows_it() {
    let (place, calls) = (fixture(LOOKS_UP), Arc::default());
    let session = place.session().tool(tide(&calls)).open().await.unwrap();
    let answer = session.prompt("when?").await.unwrap();
    assert_eq!((answer.outcome, calls.load(Ordering::SeqCst)), (Some(TaskOutcome::Completed), 0), "no rule allows it");
    session.leave().await.unwrap();

    let session = place.session().tool(tide(&calls)).allow("tide").open().await.unwrap();
    assert_eq!(session.prompt("when?").await.unwrap().text, "heard high water at Kiel");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    session.leave().await.unwrap();
}

#[tokio::test]
async fn a_program_decides_on_what_is_asked() {
    let (place, calls) = (fixture(LOOKS_UP), Arc::default());
    let session = place.session().tool(tide(&calls)).wait_for_decisions().open().await.unwrap();
    let mut events = session.events();
    session.send("when?").await.unwrap();
    let ask = loop {
        match timeout(Duration::from_secs(20), events.next()).await.unwrap().unwrap() {
            Some(BusMessage::Event(event)) => {
                if let Event::AskOpened(ask) = &event.entry.event {
                    break ask.clone();
                }
            }
            Some(BusMessage::Text { .. }) => {}
            None => panic!("the session ended"),
        }
    };
    assert!(matches!(&ask.subject, AskSubject::Permission { tool, .. } if tool == "tide"));
    assert_eq!(session.asks().unwrap()[0].ask, ask);
    let input = Some(json!({ "port": "Emden" }).to_string());
    session.decide(ask.id, AskDecision::Allow { rules: Vec::new(), input }).await.unwrap();
    assert_eq!(session.wait_until_idle().await.unwrap().text, "heard high water at Emden");
    session.leave().await.unwrap();
}

#[tokio::test]
async fn agents_are_started_waited_for_and_seen() {
    let place = fixture("  - when: { agent: counter }\n    answer: [say: twelve]\n  - answer: [say: done]\n");
    let counter =
        AgentSpec { name: "counter".into(), user_invocable: true, model_invocable: true, ..AgentSpec::default() };
    let session = place.session().agent(counter).open().await.unwrap();
    let agent = Agent { name: Some("tests".into()), ..Agent::new("counter", "count them") };
    let (one, two) = (session.spawn(agent.clone()).await.unwrap(), session.spawn(agent).await.unwrap());
    for task in [one, two] {
        let view = session.wait(task).await.unwrap();
        assert_eq!((view.result.as_deref(), &view.state), (Some("twelve"), &TaskState::Idle));
    }
    session.wait_until_idle().await.unwrap();
    let paths: Vec<String> = session.tasks().unwrap().into_iter().map(|task| task.path).collect();
    assert_eq!(paths, ["/root", "/root/tests", "/root/tests-2"]);
    let refused = session.spawn(Agent::new("nobody", "x")).await.unwrap_err();
    assert!(refused.to_string().starts_with("there is no agent `nobody`"), "{refused}");
    session.leave().await.unwrap();
}

#[tokio::test]
async fn a_session_is_left_and_resumed() {
    let place = fixture("  - answer: [say: 'turn ${turn}: ${prompt}']\n");
    let session = place.session().deny("shell").open().await.unwrap();
    let id = session.id();
    assert_eq!(session.prompt("one").await.unwrap().text, "turn 1: one");
    session.leave().await.unwrap();

    let bosun = Bosun::open(place.home.path()).unwrap();
    let session = bosun.resume(id).unwrap().open().await.unwrap();
    assert_eq!(session.prompt("two").await.unwrap().text, "turn 2: two");
    session.leave().await.unwrap();
    let view = bosun.view(id).unwrap();
    assert_eq!((view.turns, view.rules.len()), (2, 1), "its settings are kept");

    let copy = bosun.fork(id).unwrap().open().await.unwrap();
    assert_ne!(copy.id(), id);
    assert_eq!(copy.prompt("three").await.unwrap().text, "turn 3: three");
    copy.leave().await.unwrap();
    assert_eq!(bosun.view(id).unwrap().turns, 2);
}

#[tokio::test]
async fn invalid_settings_are_explained() {
    let place = fixture("  - answer: [say: hello]\n");
    let message = |error: Error| error.to_string();
    let unnamed = place.bosun.session().cwd(place.folder()).open().await;
    if let Err(error) = unnamed {
        assert!(message(error).starts_with("no model is chosen"));
    }
    let bad_folder = place.session().cwd("/nowhere/at/all").open().await.unwrap_err();
    assert!(message(bad_folder).starts_with("cannot work in /nowhere/at/all: "));
    let model = place.session().model("nobody/nothing").open().await.unwrap_err();
    assert!(message(model).contains("nobody"));
    let rule = place.session().allow("shell(((").open().await.unwrap_err();
    assert!(message(rule).contains("shell"));
    let dollars = Budget { micros: Some(1_000_000), ..Budget::default() };
    let attic = "[providers.attic]\nkind = 'openai-chat'\nbase-url = 'http://127.0.0.1:9/v1'\n";
    std::fs::write(place.home.path().join("config.toml"), attic).unwrap();
    let unpriced = place.session().model("attic/m").budget(dollars).open().await.unwrap_err();
    assert!(matches!(unpriced, Error::Unpriced(_)), "{unpriced}");
}
