//! Sessions whose root is not the default agent.

use std::sync::Arc;

use protocol::{AgentSpec, Budget, Event, Hinted as _, MailDelivery, ReasoningEffort, SpawnPolicy, ToolResultStatus};
use runtime::{SessionOpenError, SessionStart};
use serde_json::json;
use testkit::session::{TestModels, scenario};

use super::played::{answer, calls, played, requests_of, says, tools, with_fields, worker_input};

fn lead() -> AgentSpec {
    AgentSpec {
        name: "lead".into(),
        prompt: "You only delegate.".into(),
        tools: Some(vec!["task".into(), "view".into()]),
        spawns: SpawnPolicy::Only(vec!["reader".into()]),
        models: vec!["gone".into(), "second".into()],
        effort: Some(ReasoningEffort::High),
        max_turns: Some(9),
        ..AgentSpec::default()
    }
}

fn act(request: &model::ModelRequest) -> Vec<model::Delta> {
    match (request.path.as_str(), request.prompt().as_str()) {
        ("/root", "go") if request.turn == 1 => calls([
            ("w", "task", worker_input("hand")),
            ("r", "task", with_fields(worker_input("eye"), json!({ "agent_type": "reader" }))),
            ("s", "shell", json!({ "command": "ls" })),
        ]),
        (path, _) => says(format!("{path} is done")),
    }
}

#[tokio::test]
async fn the_root_keeps_the_role_prompt_and_model_of_its_definition() {
    let second = Arc::new(played(act).named("second"));
    let models = TestModels::default().with(Arc::new(testkit::session::CheckedModel::new(second)));
    let stage = scenario().model(Arc::new(played(act))).models(Arc::new(models)).main(lead()).allow_all().ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(answer(&run, "w").text, "a `lead` agent may not start `worker`, only: reader", "{}", run.transcript());
    assert_eq!(answer(&run, "r").status, ToolResultStatus::Done);
    assert!(answer(&run, "s").text.starts_with("There is no tool `shell`."));
    assert_eq!(run.tasks()[0].agent, "lead");
    let defined = run.count(|event| matches!(event, Event::AgentDefined { spec, .. } if **spec == lead()));
    assert_eq!(defined, 1);
    // Only its child asked the session's own model.
    assert_eq!((requests_of(&run, "/root").len(), requests_of(&run, "/root/eye").len()), (0, 1));

    stage.set_main(None);
    let mut driver = stage.open(SessionStart::Resume(run.id())).await;
    driver.send("again", MailDelivery::FollowUp).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.text(), requests_of(&run, "/root").len()), ("/root is done", 0));
    let answered = run.events().iter().filter_map(|envelope| match &envelope.entry.event {
        Event::TurnAnswered { model, .. } if envelope.entry.task == run.tasks()[0].id => Some(model.as_str()),
        _other => None,
    });
    assert_eq!(answered.collect::<Vec<_>>(), ["second"; 3]);
}

#[tokio::test]
async fn the_requests_of_the_root_follow_its_definition() {
    let plain = AgentSpec { models: Vec::new(), budget: Budget { tokens: Some(60_000), micros: None }, ..lead() };
    let run = scenario().model(Arc::new(played(act))).main(plain.clone()).prompt("hello").run().await;
    let request = &requests_of(&run, "/root")[0];
    assert!(request.system.contains("\nYou only delegate.\n"));
    assert_eq!((request.agent.as_str(), request.effort), ("lead", Some(ReasoningEffort::High)));
    assert_eq!(tools(request), ["view", "task", "tool_search"]);
    let opened = run.events().iter().find_map(|envelope| match &envelope.entry.event {
        Event::SessionOpened(config) => Some((config.root_turns, config.budget)),
        _other => None,
    });
    assert_eq!(opened, Some((Some(9), plain.budget)));
}

#[tokio::test]
async fn a_session_with_an_unusable_root_agent_does_not_open() {
    let stage = scenario().model(Arc::new(played(act))).main(lead()).ready();
    let Err(SessionOpenError::Agent(problem)) = stage.try_open(SessionStart::New).await else { panic!() };
    let problem = problem.in_one_line();
    assert!(problem.starts_with("no model that `lead` wants can be used (gone: "), "{problem}");
    stage.set_main(Some(AgentSpec { unsupported: vec!["it wants a worktree".into()], ..AgentSpec::default() }));
    let Err(SessionOpenError::Agent(problem)) = stage.try_open(SessionStart::New).await else { panic!() };
    let problem = problem.to_string();
    assert!(problem.contains("it wants a worktree"), "{problem}");
}
