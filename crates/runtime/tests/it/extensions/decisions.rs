//! A decision may change the arguments of a call; they are judged like any others.

use protocol::api::DecideParams;
use protocol::{Ask, AskDecision, Event, MailDelivery, RuleEffect, ToolResultStatus};
use runtime::SessionStart;
use testkit::session::{PlayedSession, SessionDriver, SessionFixture, scenario};

use crate::support::rules;

const WRITES: &str = "
  - when: { turn: 1 }
    answer: [call: { id: c, tool: create, input: { path: first.txt, content: words } }]
  - answer: [say: 'heard ${answer}']
";

fn stage() -> SessionFixture {
    let scene = scenario().script(&rules(WRITES)).ask_wait(None);
    scene.rule(RuleEffect::Deny, "edit(secret/**)").rule(RuleEffect::Ask, "edit(*.txt)").ready()
}

async fn asked(stage: &SessionFixture) -> (SessionDriver, Ask) {
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    let asked = driver.until("the ask", |event| matches!(event, Event::AskOpened(_))).await;
    let Event::AskOpened(ask) = asked.entry.event else { unreachable!() };
    (driver, ask)
}

fn with(ask: &Ask, input: &str) -> DecideParams {
    DecideParams { ask: ask.id.clone(), decision: AskDecision::Allow { rules: Vec::new(), input: Some(input.into()) } }
}

fn status(run: &PlayedSession) -> ToolResultStatus {
    let answered = run.events().iter().find_map(|envelope| match &envelope.entry.event {
        Event::CallAnswered { answer, .. } => Some(answer.status),
        _other => None,
    });
    answered.unwrap()
}

#[tokio::test]
async fn a_call_runs_with_the_arguments_of_the_decision() {
    let stage = stage();
    let (mut driver, ask) = asked(&stage).await;
    driver.session().decide(with(&ask, r#"{"path":"second.txt","content":"other words"}"#)).await.unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((stage.file("first.txt"), stage.file("second.txt").as_deref()), (None, Some("other words")));
    assert_eq!(status(&run), ToolResultStatus::Done);
}

#[tokio::test]
async fn arguments_of_a_decision_do_not_override_a_denial() {
    let denied = [r#"{"path":"secret/x.txt","content":"w"}"#, r#"{"path":"../x.txt","content":"w"}"#, "no JSON"];
    for input in denied {
        let stage = stage();
        let (mut driver, ask) = asked(&stage).await;
        driver.session().decide(with(&ask, input)).await.unwrap();
        driver.rest().await;
        let run = driver.leave().await;
        assert_ne!(status(&run), ToolResultStatus::Done, "{input}: {}", run.transcript());
        assert_eq!((stage.file("first.txt"), stage.file("secret/x.txt"), stage.file("../x.txt")), (None, None, None));
    }
}

#[tokio::test]
async fn arguments_of_a_decision_survive_the_death_of_the_process() {
    let stage = stage();
    let (driver, ask) = asked(&stage).await;
    let id = driver.crash().await.id();
    let decision = with(&ask, r#"{"path":"second.txt","content":"other words"}"#);
    let command = protocol::api::SessionCommand::Decide(decision);
    store::post_command(stage.home(), id, &command, testkit::session::FakeClock::START).unwrap();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.until("the decision", |event| matches!(event, Event::AskDecided { .. })).await;
    let id = driver.crash().await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(stage.file("first.txt"), None, "{}", run.transcript());
    // A started call whose end was not recorded is not repeated.
    let began_once = run.count(|event| matches!(event, Event::CallStarted { .. }));
    assert_eq!(began_once, 1);
    if status(&run) == ToolResultStatus::Done {
        assert_eq!(stage.file("second.txt").as_deref(), Some("other words"));
    }
}
