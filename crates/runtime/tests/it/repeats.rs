//! Small models: repeated calls are refused and then end the activation; calls written as text are recognised.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use insta::assert_snapshot;
use model::{Deltas, LenientModel, Model, ModelFacts, ModelRequest, ModelTier};
use protocol::{
    AgentSpec, Event, FailKind, LimitKind, MailDelivery, SpawnPolicy, TaskOutcome, TaskState, ToolResultStatus,
};
use runtime::SessionStart;
use testkit::session::{PlayedSession, Scenario, scenario};

use crate::support::{relay, rules, script, silent_model};

const SMALL: ModelFacts = ModelFacts { tier: ModelTier::Small, ..ModelFacts::UNKNOWN };

const VIEWS: &str = "  - answer:
      - call: { tool: view, input: { path: a.txt } }
";

/// A model that counts as small.
#[derive(Debug)]
struct Small(Arc<dyn Model>);

impl Model for Small {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn facts(&self) -> &ModelFacts {
        &SMALL
    }

    fn send(&self, request: ModelRequest) -> Deltas {
        self.0.send(request)
    }
}

/// A model that counts as small once the flag is set.
#[derive(Debug)]
struct Shrinking(Arc<dyn Model>, AtomicBool);

impl Model for Shrinking {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn facts(&self) -> &ModelFacts {
        if self.1.load(Ordering::SeqCst) { &SMALL } else { &ModelFacts::UNKNOWN }
    }

    fn send(&self, request: ModelRequest) -> Deltas {
        self.0.send(request)
    }
}

fn small(yaml: &str) -> Scenario {
    scenario().model(Arc::new(Small(script(&rules(yaml))))).file("a.txt", "x")
}

fn started(run: &PlayedSession) -> usize {
    run.count(|event| matches!(event, Event::CallStarted { .. }))
}

fn refused(run: &PlayedSession) -> usize {
    run.count(|event| matches!(event, Event::CallAnswered { answer, .. } if answer.status == ToolResultStatus::Refused))
}

#[tokio::test]
async fn a_call_repeated_for_ever_is_refused_and_then_ends_the_activation() {
    let run = small(VIEWS).prompt("go").run().await;
    let Some(TaskOutcome::Failed { kind: FailKind::NoAnswer, message }) = run.outcome() else {
        panic!("{:?}", run.outcome())
    };
    assert!(message.starts_with("the model repeats the call `view {\"path\":\"a.txt\"}`"), "{message}");
    assert_eq!((started(&run), refused(&run)), (2, 3));
    assert_snapshot!(run.transcript());
}

#[tokio::test]
async fn a_model_that_heeds_the_refusal_continues() {
    let heeds = format!("  - when: {{ answered: {{ status: refused }} }}\n    answer: [say: It says x.]\n{VIEWS}");
    let run = small(&heeds).prompt("go").run().await;
    assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
    assert_eq!((started(&run), refused(&run)), (2, 1));
}

#[tokio::test]
async fn a_larger_model_may_repeat_itself() {
    let run = scenario().script(&rules(VIEWS)).file("a.txt", "x").max_turns(8).prompt("go").run().await;
    assert_eq!(run.outcome(), Some(&TaskOutcome::TimedOut { limit: LimitKind::Turns }));
    assert_eq!((started(&run), refused(&run)), (8, 0));
}

#[tokio::test]
async fn a_call_whose_answer_changes_does_not_count_as_repeated() {
    let counts = "  - answer:
      - call: { tool: shell, input: { command: 'echo x >> log; cat log' } }
";
    let run = small(counts).allow_all().max_turns(8).prompt("go").run().await;
    assert_eq!(run.outcome(), Some(&TaskOutcome::TimedOut { limit: LimitKind::Turns }));
    assert_eq!((started(&run), refused(&run)), (8, 0));
}

#[tokio::test]
async fn a_prompt_resets_the_count() {
    let mut driver = small(VIEWS).ready().open(SessionStart::New).await;
    for prompt in ["go", "again"] {
        driver.send(prompt, MailDelivery::FollowUp).await;
        driver.rest().await;
    }
    let run = driver.leave().await;
    assert_eq!((started(&run), refused(&run)), (4, 6));
}

#[tokio::test]
async fn a_new_owner_continues_the_count() {
    let views = || script(&rules(VIEWS));
    let model = relay([views(), views(), views(), views(), silent_model(), views()]);
    let stage = scenario().model(Arc::new(Small(model))).file("a.txt", "x").ready();
    let driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.asked(5).await;
    let id = driver.crash().await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    let run = driver.leave().await;
    assert!(matches!(run.outcome(), Some(TaskOutcome::Failed { kind: FailKind::NoAnswer, .. })), "{:?}", run.outcome());
    assert_eq!((started(&run), refused(&run)), (2, 3));
}

#[tokio::test]
async fn calls_that_are_written_as_text_run_and_are_answered() {
    let writes = rules(
        r#"  - when: { turn: 1 }
    answer:
      - drip: { every: 0ms, size: 3 }
      - say: "I look.\n```json\n{'name': 'view', 'arguments': {'path': 'a.txt',}}\n```"
  - when: { turn: 2 }
    answer:
      - say: "<tool_call>{\"name\": \"view\", \"arguments\": {\"path\": \"b.txt\"}}"
  - answer: [say: "${answer}"]
"#,
    );
    let model = Arc::new(LenientModel::new(Arc::new(Small(script(&writes)))));
    let run = scenario().model(model).file("a.txt", "x\n").file("b.txt", "y\n").prompt("go").run().await;
    assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
    assert_snapshot!(run.transcript());
}

#[tokio::test]
async fn a_wait_continues_although_it_would_be_refused_for_a_small_model() {
    let waits = "  - when: { agent: helper }
    answer: [hang: true]
  - when: { turn: 1 }
    answer:
      - call: { tool: task, input: { description: d, prompt: p, agent_type: helper, name: w, mode: background } }
  - when: { turn: ..4 }
    answer: [call: { tool: wait, input: { timeout_secs: 10 } }]
  - answer: [say: done]
";
    let model = Arc::new(Shrinking(script(&rules(waits)), AtomicBool::new(false)));
    // The definitions list their tools, so that a small model sees no others.
    let agent_with_tools = |name: &str, tools: &[&str]| {
        let tools = Some(tools.iter().map(|tool| (*tool).to_owned()).collect());
        let (name, spawns) = (name.into(), SpawnPolicy::Any);
        AgentSpec { name, tools, spawns, model_invocable: true, ..AgentSpec::default() }
    };
    let (main, helper) = (agent_with_tools("main", &["task", "wait"]), agent_with_tools("helper", &["view"]));
    let stage = scenario().main(main).agent(helper).model(Arc::clone(&model) as Arc<dyn Model>).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    let begins = |event: &Event| matches!(event, Event::WaitBegan { .. });
    for _ in 0..2 {
        driver.until("a wait", begins).await;
        stage.clock().advance(Duration::from_secs(11));
    }
    driver.until("the third wait", begins).await;
    let id = driver.crash().await.id();
    model.1.store(true, Ordering::SeqCst);
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    stage.clock().advance(Duration::from_secs(11));
    driver.until_status("the root at rest", |status| status.root == Some(TaskState::Idle)).await;
    let run = driver.leave().await;
    assert_eq!((run.text(), refused(&run)), ("done", 0), "{}", run.transcript());
}

/// B9: a small model sees few tools, and can search for the others.
#[tokio::test]
async fn a_small_model_sees_six_tools() {
    let run = small("  - answer: [say: done]\n").prompt("go").run().await;
    let requests = run.stage().model(run.id()).requests();
    let mut names: Vec<String> = requests[0].tools.iter().map(|tool| tool.name.clone()).collect();
    names.sort();
    assert_eq!(names, ["create", "edit", "grep", "shell", "tool_search", "view"]);
}

/// B9: a call written as text that names an unknown tool is answered, and the call next to it runs.
#[tokio::test]
async fn a_text_call_of_an_unknown_tool_is_answered_and_others_run() {
    let written = r#"  - when: { turn: 1 }
    answer:
      - say: "```json\n[{\"name\": \"view\", \"arguments\": {\"path\": \"a.txt\"}}, {\"name\": \"read\", \"arguments\": {\"path\": \"a.txt\"}}]\n```"
  - answer: [say: "heard ${answer}"]
"#;
    let model = LenientModel::new(Arc::new(Small(script(&rules(written)))));
    let run = scenario().model(Arc::new(model)).file("a.txt", "x").prompt("go").run().await;
    assert_eq!((started(&run), refused(&run)), (1, 1), "{}", run.transcript());
    assert!(run.text().starts_with("heard Not run: there is no tool `read`; use `view`."), "{}", run.text());
}
