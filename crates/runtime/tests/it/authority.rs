//! Permissions in a tree of agents: each agent has its own role, and all share the ceiling.

use protocol::{AgentSpec, CallId, Event, MailDelivery, RuleEffect, SpawnPolicy, ToolResultStatus};
use runtime::SessionStart;
use testkit::session::{PlayedSession, Scenario, scenario};

use crate::support::rules;

fn agent(name: &str, tools: &[&str], spawns: SpawnPolicy) -> AgentSpec {
    AgentSpec {
        name: name.into(),
        description: format!("a {name}"),
        tools: Some(tools.iter().map(|tool| (*tool).to_owned()).collect()),
        spawns,
        model_invocable: true,
        ..AgentSpec::default()
    }
}

/// The status of each call's answer, with the path of its task.
fn answers(run: &PlayedSession) -> Vec<(String, CallId, ToolResultStatus)> {
    let path = |task| run.tasks().iter().find(|view| view.id == task).map(|view| view.path.clone()).unwrap_or_default();
    let of = |envelope: &protocol::Envelope| match &envelope.entry.event {
        Event::CallAnswered { call, answer, .. } => Some((path(envelope.entry.task), call.clone(), answer.status)),
        _other => None,
    };
    run.events().iter().filter_map(of).collect()
}

fn status(run: &PlayedSession, task: &str, call: &str) -> Option<ToolResultStatus> {
    let found = answers(run).into_iter().find(|(path, id, _)| path == task && id.0 == call);
    found.map(|(_, _, status)| status)
}

#[tokio::test]
async fn a_coordinator_that_has_only_task_starts_an_explorer_that_greps() {
    let script = rules(
        "  - when: { agent: explorer, turn: 1 }
    answer:
      - call: { id: look, tool: grep, input: { pattern: needle } }
      - call: { id: hire, tool: task, input: { description: d, prompt: p, agent_type: worker, name: w } }
  - when: { agent: explorer }
    answer: [say: 'found in hay.txt']
  - when: { agent: coordinator, turn: 1 }
    answer:
      - call: { id: look, tool: grep, input: { pattern: needle } }
      - call: { id: hire, tool: task, input: { description: d, prompt: p, agent_type: worker, name: w } }
      - call: { id: ask, tool: task, input: { description: d, prompt: find it, agent_type: explorer, name: e } }
  - when: { agent: coordinator }
    answer: [say: 'it is ${answer}']
  - when: { turn: 1 }
    answer:
      - call: { id: start, tool: task, input: { description: d, prompt: find it, agent_type: coordinator, name: c } }
  - answer: [say: '${answer}']
",
    );
    let only = SpawnPolicy::Only(vec!["explorer".into()]);
    let run = scenario()
        .agent(agent("coordinator", &["task"], only))
        .agent(agent("explorer", &["grep", "view", "glob"], SpawnPolicy::None))
        .file("hay.txt", "hay\nneedle\nhay\n")
        .script(&script)
        .prompt("go")
        .run()
        .await;
    assert_eq!(status(&run, "/root/c", "look"), Some(ToolResultStatus::Refused), "it has no grep");
    assert_eq!(status(&run, "/root/c", "hire"), Some(ToolResultStatus::Refused), "it may not start a worker");
    assert_eq!(status(&run, "/root/c", "ask"), Some(ToolResultStatus::Done));
    assert_eq!(status(&run, "/root/c/e", "look"), Some(ToolResultStatus::Done), "its explorer has grep");
    assert_eq!(status(&run, "/root/c/e", "hire"), Some(ToolResultStatus::Refused), "an explorer starts no agents");
    assert!(run.text().contains("found in hay.txt"), "{}", run.text());
    assert_eq!(run.tasks().len(), 3);
}

/// A chain of workers five deep; each, the root included, tries to touch a file and then lets the next one try.
fn chain(task_options: &str) -> Scenario {
    let script = rules(&format!(
        "  - when: {{ turn: 1 }}
    answer:
      - call: {{ id: try, tool: shell, input: {{ command: touch forbidden }} }}
      - call: {{ id: next, tool: task, input: {{ description: d, prompt: go on, agent_type: worker, name: w{task_options} }} }}
  - answer: [say: done]
"
    ));
    let limits = kernel::SessionLimits { depth: 5, ..kernel::SessionLimits::default() };
    scenario().script(&script).allow_all().rule(RuleEffect::Deny, "shell(touch *)").limits(limits)
}

fn denied(run: &PlayedSession) -> usize {
    answers(run).iter().filter(|(_, call, status)| call.0 == "try" && *status == ToolResultStatus::Denied).count()
}

#[tokio::test]
async fn a_deny_rule_applies_at_every_depth() {
    for first in ["", ", mode: background"] {
        let run = chain(first).prompt("go").run().await;
        assert_eq!(run.file("forbidden"), None);
        assert_eq!((run.tasks().len(), denied(&run)), (6, 6), "the root and five below it");
        let deepest = run.tasks().iter().map(|task| task.path.matches('/').count()).max();
        assert_eq!(deepest, Some(6));
    }
}

#[tokio::test]
async fn a_deny_rule_applies_to_agents_that_resume_after_a_crash() {
    let stage = chain("").ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    let deep = |event: &Event| matches!(event, Event::WaitBegan { .. });
    for _ in 0..3 {
        driver.until("one more waits", deep).await;
    }
    let id = driver.crash().await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.file("forbidden"), None);
    assert_eq!((run.tasks().len(), denied(&run)), (6, 6));
}

#[tokio::test]
async fn an_agents_permission_mode_only_narrows() {
    let script = rules(
        "  - when: { agent: planner|bold, turn: 1 }
    answer:
      - call: { id: try, tool: create, input: { path: '${agent}.txt', content: x } }
  - when: { turn: 1 }
    answer:
      - call: { id: a, tool: task, input: { description: d, prompt: p, agent_type: planner, name: p } }
      - call: { id: b, tool: task, input: { description: d, prompt: p, agent_type: bold, name: b } }
  - answer: [say: done]
",
    );
    let with_mode =
        |name: &str, mode| AgentSpec { permission: Some(mode), ..agent(name, &["create"], SpawnPolicy::None) };
    let agents = |scenario: Scenario| {
        scenario
            .agent(with_mode("planner", protocol::PermissionMode::Plan))
            .agent(with_mode("bold", protocol::PermissionMode::AllowAll))
    };
    let wide = agents(scenario().script(&script).allow_all()).prompt("go").run().await;
    assert_eq!((wide.file("planner.txt"), wide.file("bold.txt").as_deref()), (None, Some("x")));
    let narrow = agents(scenario().script(&script)).prompt("go").run().await;
    assert_eq!(
        (narrow.file("planner.txt"), narrow.file("bold.txt")),
        (None, None),
        "no agent lifts the session's mode"
    );
}
