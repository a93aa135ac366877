//! Questions from a model to the user.

use std::time::Duration;

use protocol::api::{DecideParams, SessionCommand};
use protocol::{AskDecision, AskId, AskSubject, Event, MailDelivery};
use runtime::SessionStart;
use store::post_command;
use testkit::session::{FakeClock, Scenario, SessionDriver, SessionFixture, scenario};

use crate::support::{run_ready_tasks, turns};

/// A model that asks one question and repeats its answer.
fn curious() -> Scenario {
    let script = turns(
        "
    - - call: { id: q, tool: ask_user, input: { question: Which colour?, choices: [red, blue] } }
    - - say: 'heard: ${answer}'
",
    );
    scenario().script(&script)
}

/// A session whose model has asked its question.
async fn asked(stage: &SessionFixture) -> (SessionDriver, AskId) {
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("paint", MailDelivery::FollowUp).await;
    let ask = question(&mut driver).await;
    (driver, ask)
}

async fn question(driver: &mut SessionDriver) -> AskId {
    let asked = driver.until("a question", |event| matches!(event, Event::AskOpened(_))).await;
    let Event::AskOpened(ask) = asked.entry.event else { panic!("it asks") };
    let subject = AskSubject::Question { question: "Which colour?".into(), choices: vec!["red".into(), "blue".into()] };
    assert_eq!(ask.subject, subject);
    ask.id
}

async fn decide(driver: &SessionDriver, ask: &AskId, decision: AskDecision) {
    driver.session().decide(DecideParams { ask: ask.clone(), decision }).await.unwrap();
}

fn reply(text: &str) -> AskDecision {
    AskDecision::Reply { text: text.into() }
}

const UNANSWERED: &str = "heard: The user did not answer; decide yourself and report what you assumed.";

#[tokio::test]
async fn an_answer_reaches_the_model() {
    let stage = curious().ask_wait(None).ready();
    let (mut driver, ask) = asked(&stage).await;
    // Only a reply or a denial can decide a question.
    let allow = DecideParams { ask: ask.clone(), decision: AskDecision::Allow { rules: Vec::new(), input: None } };
    assert!(driver.session().decide(allow).await.is_err());
    decide(&driver, &ask, reply("blue")).await;
    driver.rest().await;
    assert_eq!(driver.leave().await.text(), "heard: The user answers: blue");
}

#[tokio::test]
async fn a_question_survives_its_owner() {
    let stage = curious().ask_wait(None).ready();
    let (driver, ask) = asked(&stage).await;
    let id = driver.leave().await.id();
    let driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    run_ready_tasks().await;
    let id = driver.crash().await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    decide(&driver, &ask, reply("red")).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.text(), "heard: The user answers: red");
    assert_eq!(run.count(|event| matches!(event, Event::AskOpened(_))), 1, "{}", run.transcript());
}

#[tokio::test]
async fn an_answer_is_not_lost_when_its_owner_dies() {
    let stage = curious().ask_wait(None).ready();
    let (driver, ask) = asked(&stage).await;
    decide(&driver, &ask, reply("red")).await;
    let id = driver.crash().await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    assert_eq!(driver.leave().await.text(), "heard: The user answers: red");
}

#[tokio::test]
async fn an_answer_reaches_the_model_although_questions_are_now_disabled() {
    let stage = curious().ask_wait(None).ready();
    let (driver, ask) = asked(&stage).await;
    let id = driver.crash().await.id();
    let answer = SessionCommand::Decide(DecideParams { ask, decision: reply("red") });
    post_command(stage.home(), id, &answer, FakeClock::START).unwrap();
    stage.set_ask_wait(Some(Duration::ZERO));
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    assert_eq!(driver.leave().await.text(), "heard: The user answers: red");
}

#[tokio::test]
async fn an_owner_that_does_not_wait_ends_the_questions_of_an_earlier_one() {
    let stage = curious().ask_wait(None).ready();
    let (driver, _ask) = asked(&stage).await;
    let id = driver.leave().await.id();
    stage.set_ask_wait(Some(Duration::ZERO));
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    assert_eq!(driver.leave().await.text(), UNANSWERED);
}

#[tokio::test]
async fn a_question_without_a_timely_answer_is_decided_by_the_model() {
    let stage = curious().ask_wait(Some(Duration::from_secs(60))).ready();
    let (mut driver, ask) = asked(&stage).await;
    stage.clock().advance(Duration::from_secs(61));
    driver.rest().await;
    let late = DecideParams { ask, decision: reply("blue") };
    assert!(driver.session().decide(late).await.is_err());
    assert_eq!(driver.leave().await.text(), UNANSWERED);
}

#[tokio::test]
async fn a_user_may_leave_a_question_unanswered() {
    let stage = curious().ask_wait(None).ready();
    let (mut driver, ask) = asked(&stage).await;
    decide(&driver, &ask, AskDecision::Deny { message: String::new() }).await;
    driver.rest().await;
    assert_eq!(driver.leave().await.text(), UNANSWERED);
}

#[tokio::test]
async fn the_question_tool_is_offered_only_if_a_user_can_answer() {
    let minute = Some(Duration::from_secs(60));
    for (scenario, offers) in [
        (curious().ask_wait(None), true),
        (curious().ask_wait(minute), true),
        (curious().ask_wait(Some(Duration::ZERO)), false),
        (curious().ask_wait(None).no_ask_user(), false),
    ] {
        let stage = scenario.ready();
        let driver = stage.open(SessionStart::New).await;
        driver.send("paint", MailDelivery::FollowUp).await;
        driver.asked(1).await;
        let request = driver.model().requests().remove(0);
        let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names.contains(&"ask_user"), offers, "{names:?}");
        driver.leave().await;
    }
}

#[tokio::test]
async fn without_a_user_the_question_tool_does_not_exist() {
    let run = curious().prompt("paint").run().await;
    assert!(run.text().starts_with("heard: There is no tool `ask_user`."), "{}", run.text());
}
