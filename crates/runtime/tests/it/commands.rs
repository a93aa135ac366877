//! Commands that another process left in the session's file: each is carried out once, poked or not.

use insta::assert_snapshot;
use protocol::api::{Command, CommandFate, Method, RefusalKind, SendParams, TaskParams};
use protocol::{Delivery, Event, MailId, Outcome, TaskId};
use rpc::Client;
use runtime::Start;
use serde_json::{Value, json};
use store::{Reader, post_command};
use testkit::session::{Driver, FakeClock, Stage, scenario};

use crate::support::{relay, rules, script, silence};

fn heard() -> Stage {
    scenario().script(&rules("  - answer: [say: \"heard: ${prompt}\"]\n")).ready()
}

fn post(stage: &Stage, driver: &Driver, command: &Command) {
    post_command(stage.home(), driver.id(), command, FakeClock::START).unwrap();
}

fn send(text: &str) -> Command {
    Command::Send(SendParams {
        task: None,
        text: text.into(),
        images: Vec::new(),
        delivery: Delivery::FollowUp,
        display: None,
    })
}

fn ended(event: &Event) -> bool {
    matches!(event, Event::ActivationEnded { .. })
}

#[tokio::test]
async fn a_command_is_applied_with_a_poke_without_one_and_by_the_next_owner() {
    let stage = heard();
    let mut driver = stage.open(Start::New).await;
    post(&stage, &driver, &send("poked"));
    let (client, _notifications) = Client::connect(&stage.home().socket(driver.id())).await.unwrap();
    let _: Value = client.call(Method::SessionPoke, json!({})).await.unwrap();
    driver.until("an answer", ended).await;
    post(&stage, &driver, &send("not poked"));
    driver.until("an answer", ended).await;
    let id = driver.leave().await.id();

    post_command(stage.home(), id, &send("while nobody was there"), FakeClock::START).unwrap();
    let mut driver = stage.open(Start::Resume(id)).await;
    assert!(driver.session().has_work().await.unwrap(), "a command waits");
    driver.resume().await;
    assert!(!driver.session().status().borrow().quiet, "whoever lets a session go on sees what its commands began");
    driver.until("an answer", ended).await;
    assert_eq!(Reader::open(stage.home(), id).unwrap().pending_commands().unwrap(), []);
    assert!(!driver.session().has_work().await.unwrap());
    assert_snapshot!(driver.leave().await.transcript());
}

#[tokio::test]
async fn r8_whoever_leaves_a_command_reads_what_became_of_it() {
    let stage = heard();
    let mut driver = stage.open(Start::New).await;
    let stranger = TaskId::new("0000000000000000000000000000ffff".parse().unwrap());
    let forget = Command::Forget(TaskParams { task: stranger });
    let left = [send("hello"), forget]
        .map(|command| post_command(stage.home(), driver.id(), &command, FakeClock::START).unwrap());
    let reader = Reader::open(stage.home(), driver.id()).unwrap();
    assert_eq!(left.map(|id| reader.command_fate(id).unwrap()), [None, None]);
    let (client, _notifications) = Client::connect(&stage.home().socket(driver.id())).await.unwrap();
    let _: Value = client.call(Method::SessionPoke, json!({})).await.unwrap();
    driver.until("an answer", ended).await;
    driver.rest().await;
    let fates = left.map(|id| reader.command_fate(id).unwrap());
    assert_eq!(fates[0], Some(CommandFate::Applied { mail: Some(MailId(0)) }));
    let refused = matches!(&fates[1], Some(CommandFate::Refused { kind: RefusalKind::NoTask, .. }));
    assert!(refused, "{fates:?}");
    driver.leave().await;
}

#[tokio::test]
async fn commands_interrupt_and_stop_too() {
    let stage = scenario().model(relay([silence(), silence(), script(&rules("  - answer: [say: hi]\n"))])).ready();
    let mut driver = stage.open(Start::New).await;
    for (number, command) in [(1, Command::Interrupt), (2, Command::Stop)] {
        driver.send("go", Delivery::FollowUp).await;
        driver.asked(number).await;
        post(&stage, &driver, &command);
        driver.until("an end", ended).await;
    }
    driver.rest().await;
    driver.send("go", Delivery::FollowUp).await;
    driver.rest().await;
    assert_eq!(driver.leave().await.outcome(), Some(&Outcome::Completed));
}

#[tokio::test]
async fn a_command_that_cannot_be_carried_out_is_done_with_and_blocks_none_behind_it() {
    let stage = heard();
    let mut driver = stage.open(Start::New).await;
    let stranger = TaskId::new("0000000000000000000000000000ffff".parse().unwrap());
    let hopeless = SendParams {
        task: Some(stranger),
        text: "hi".into(),
        images: Vec::new(),
        delivery: Delivery::Steer,
        display: None,
    };
    post(&stage, &driver, &Command::Send(hopeless));
    post(&stage, &driver, &send("after"));
    driver.until("an answer", ended).await;
    let run = driver.leave().await;
    assert_eq!(Reader::open(stage.home(), run.id()).unwrap().pending_commands().unwrap(), []);
    assert_eq!(run.count(ended), 1);
}
