//! Tools that the program runs.

use protocol::api::DecideParams;
use protocol::{AgentSpec, AskDecision, AskSubject, Event, MailDelivery, PermissionMode, RuleEffect, ToolResultStatus};
use runtime::SessionStart;
use testkit::session::{PlayedSession, Scenario, scenario};

use super::RecordingTool;
use crate::support::rules;

/// A root that calls the program's tool and repeats its answer.
const ASKS: &str = "
  - when: { turn: 1 }
    answer: [call: { id: c, tool: lookup, input: { path: secrets/key } }]
  - answer: [say: 'heard ${answer}']
";

/// Three agents below each other, of which the last calls the program's tool.
const DEEP: &str = "
  - when: { path: /root, turn: 1 }
    answer: [call: { tool: task, input: { description: d, prompt: p, agent_type: worker, name: one } }]
  - when: { path: /root/one, turn: 1 }
    answer: [call: { tool: task, input: { description: d, prompt: p, agent_type: worker, name: two } }]
  - when: { path: /root/one/two, turn: 1 }
    answer: [call: { tool: task, input: { description: d, prompt: p, agent_type: worker, name: three } }]
  - when: { path: /root/one/two/three, turn: 1 }
    answer: [call: { id: c, tool: lookup, input: {} }]
  - answer: [say: 'heard ${answer}']
";

fn client_tool_scenario(guest: &std::sync::Arc<RecordingTool>, script: &str) -> Scenario {
    scenario().script(&rules(script)).extensions(guest.as_extensions()).prompt("go")
}

fn answer(run: &PlayedSession) -> (ToolResultStatus, String) {
    let answered = run.events().iter().find_map(|envelope| match &envelope.entry.event {
        Event::CallAnswered { call, answer, .. } if call.0 == "c" => Some((answer.status, answer.text.clone())),
        _other => None,
    });
    answered.unwrap()
}

#[tokio::test]
async fn a_client_tool_is_offered_and_run_when_a_rule_allows_it() {
    let guest = RecordingTool::named("lookup");
    let run = client_tool_scenario(&guest, ASKS).rule(RuleEffect::Allow, "lookup").run().await;
    let offered = &run.stage().model(run.id()).requests()[0].tools;
    let known = offered.iter().find(|tool| tool.name == "lookup").unwrap();
    assert_eq!(known.description, "Looks something up in the program.");
    assert_eq!((run.text(), guest.called()), ("heard forty-two", vec![r#"{"path":"secrets/key"}"#.to_owned()]));
}

#[tokio::test]
async fn a_client_tool_needs_permission_and_is_denied_without_a_user() {
    let guest = RecordingTool::named("lookup");
    let run = client_tool_scenario(&guest, ASKS).run().await;
    assert_eq!((answer(&run).0, guest.called()), (ToolResultStatus::Denied, vec![]), "{}", run.transcript());

    let stage = client_tool_scenario(&guest, ASKS).ask_wait(None).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    let asked = driver.until("the ask", |event| matches!(event, Event::AskOpened(_))).await;
    let Event::AskOpened(ask) = asked.entry.event else { unreachable!() };
    let AskSubject::Permission { tool, rules, .. } = &ask.subject else { panic!("{ask:?}") };
    assert_eq!((tool.as_str(), rules.as_slice()), ("lookup", &["lookup".to_owned()][..]));
    let decision = AskDecision::Allow { rules: Vec::new(), input: None };
    driver.session().decide(DecideParams { ask: ask.id, decision }).await.unwrap();
    driver.rest().await;
    assert_eq!((driver.leave().await.text(), guest.called().len()), ("heard forty-two", 1));
}

#[tokio::test]
async fn a_client_tool_replaces_the_built_in_one_of_its_name() {
    let guest = RecordingTool::named("view");
    let script = ASKS.replace("lookup", "view");
    let run =
        client_tool_scenario(&guest, &script).rule(RuleEffect::Allow, "view").file("secrets/key", "ours").run().await;
    let offered = run.stage().model(run.id()).requests()[0].tools.iter().filter(|tool| tool.name == "view").count();
    assert_eq!((run.text(), offered, guest.called().len()), ("heard forty-two", 1, 1));
}

#[tokio::test]
async fn a_client_tool_with_another_products_name_replaces_the_built_in_one() {
    let guest = RecordingTool::named("bash");
    let script = ASKS.replace("lookup", "bash");
    let run = client_tool_scenario(&guest, &script).allow_all().run().await;
    let offered = run.stage().model(run.id()).requests()[0].tools.clone();
    assert!(offered.iter().any(|tool| tool.name == "bash"));
    assert!(!offered.iter().any(|tool| tool.name == "shell"), "the model could bypass the client tool");
    assert_eq!((run.text(), guest.called().len()), ("heard forty-two", 1));
}

#[tokio::test]
async fn a_rule_offered_for_a_client_tool_covers_only_that_tool() {
    let guest = RecordingTool::named("edit");
    let stage = client_tool_scenario(&guest, &ASKS.replace("lookup", "edit")).ask_wait(None).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    let asked = driver.until("the ask", |event| matches!(event, Event::AskOpened(_))).await;
    let Event::AskOpened(ask) = asked.entry.event else { unreachable!() };
    let AskSubject::Permission { tool, rules, .. } = &ask.subject else { panic!("{ask:?}") };
    assert_eq!((tool.as_str(), rules.is_empty()), ("edit", true), "`edit` would allow `create` too");
    driver.leave().await;
}

#[tokio::test]
async fn an_agent_whose_definition_does_not_list_a_client_tool_does_not_have_it() {
    let guest = RecordingTool::named("lookup");
    let script = "
  - when: { agent: reader, turn: 1 }
    answer: [call: { id: c, tool: lookup, input: {} }]
  - when: { path: /root, turn: 1 }
    answer: [call: { tool: task, input: { description: d, prompt: p, agent_type: reader, name: one } }]
  - answer: [say: done]
";
    let run = client_tool_scenario(&guest, script).allow_all().run().await;
    let requests = run.stage().model(run.id()).requests();
    let is_offered = |agent: &str| {
        let asked = requests.iter().find(|request| request.agent == agent).unwrap();
        asked.tools.iter().any(|tool| tool.name == "lookup")
    };
    assert_eq!((is_offered("main"), is_offered("reader")), (true, false));
    assert_eq!(guest.called(), Vec::<String>::new());
    assert_ne!(answer(&run).0, ToolResultStatus::Done);

    let listed = AgentSpec {
        name: "asker".into(),
        tools: Some(vec!["lookup".into()]),
        model_invocable: true,
        ..AgentSpec::default()
    };
    let run = client_tool_scenario(&guest, &script.replace("reader", "asker")).agent(listed).allow_all().run().await;
    assert_eq!((answer(&run).0, guest.called().len()), (ToolResultStatus::Done, 1));
}

#[tokio::test]
async fn a_deny_rule_on_a_client_tool_applies_at_every_depth() {
    let shallow = DEEP.replace("agent_type: worker, name: two", "agent_type: worker, name: x");
    let one = shallow.replace("/root/one/two/three", "/root/one/x");
    for script in [ASKS, &one, DEEP] {
        for mode in [PermissionMode::Default, PermissionMode::AllowAll] {
            let guest = RecordingTool::named("lookup");
            let scene = client_tool_scenario(&guest, script).mode(mode).rule(RuleEffect::Allow, "lookup");
            let run = scene.rule(RuleEffect::Deny, "lookup").run().await;
            assert_eq!((answer(&run).0, guest.called()), (ToolResultStatus::Denied, vec![]), "{}", run.transcript());
        }
        let guest = RecordingTool::named("lookup");
        let run = client_tool_scenario(&guest, script).rule(RuleEffect::Allow, "lookup").run().await;
        assert_eq!((answer(&run).0, guest.called().len()), (ToolResultStatus::Done, 1), "{}", run.transcript());
    }
}

#[tokio::test]
async fn a_deny_rule_on_a_built_in_tool_applies_to_the_client_tool_of_its_name() {
    for (name, rule) in [("shell", "shell"), ("view", "view"), ("view", "read"), ("create", "edit"), ("task", "task")] {
        let guest = RecordingTool::named(name);
        let scene =
            client_tool_scenario(&guest, &ASKS.replace("lookup", name)).allow_all().rule(RuleEffect::Deny, rule);
        let run = scene.run().await;
        assert_eq!((answer(&run).0, guest.called()), (ToolResultStatus::Denied, vec![]), "{name}, {rule}");
    }
    // If a rule covers only some calls, the user is asked: the client tool's calls cannot be told apart.
    let guest = RecordingTool::named("shell");
    let run = client_tool_scenario(&guest, &ASKS.replace("lookup", "shell"))
        .allow_all()
        .rule(RuleEffect::Deny, "shell(rm *)")
        .run()
        .await;
    assert_eq!((answer(&run).0, guest.called()), (ToolResultStatus::Denied, vec![]));
    let run = client_tool_scenario(&guest, &ASKS.replace("lookup", "shell"))
        .rule(RuleEffect::Allow, "shell(ls *)")
        .run()
        .await;
    assert_eq!((answer(&run).0, guest.called()), (ToolResultStatus::Denied, vec![]));
}
