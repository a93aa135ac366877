//! Commands that another process gives: on the socket of a session that runs, in the file of one that nobody runs.

use std::sync::Arc;

use insta::assert_snapshot;
use protocol::api::{Command, CommandFate, Method, RefusalKind, SendParams, TaskParams};
use protocol::{Delivery, Event, MailId, Outcome, TaskId};
use rpc::Client;
use runtime::Start;
use store::{Reader, post_command};
use testkit::session::{FakeClock, SessionFixture, scenario};

use crate::support::{Gate, relay, rules, script, silence};

fn heard() -> SessionFixture {
    scenario().script(&rules("  - answer: [say: \"heard: ${prompt}\"]\n")).ready()
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
async fn a_command_is_applied_by_a_running_session_and_by_the_next_owner() {
    let gate = Gate::says("heard: while nobody was there");
    let first = script(&rules("  - answer: [say: \"heard: ${prompt}\"]\n"));
    let stage = scenario().model(relay([first, Arc::<Gate>::clone(&gate)])).ready();
    let mut driver = stage.open(Start::New).await;
    let (client, _notifications) = Client::connect(&stage.home().socket(driver.id())).await.unwrap();
    let _: CommandFate = client.call(Method::SessionCommand, send("at once")).await.unwrap();
    driver.until("an answer", ended).await;
    let id = driver.leave().await.id();

    post_command(stage.home(), id, &send("while nobody was there"), FakeClock::START).unwrap();
    let mut driver = stage.open(Start::Resume(id)).await;
    assert!(driver.session().has_work().await.unwrap(), "a command waits");
    driver.resume().await;
    assert!(!driver.session().status().borrow().quiet, "whoever lets a session go on sees what its commands began");
    gate.open();
    driver.until("an answer", ended).await;
    assert_eq!(Reader::open(stage.home(), id).unwrap().pending_commands().unwrap(), []);
    assert!(!driver.session().has_work().await.unwrap());
    assert_snapshot!(driver.leave().await.transcript());
}

#[tokio::test]
async fn r8_whoever_gives_a_command_reads_what_became_of_it() {
    let stage = heard();
    let mut driver = stage.open(Start::New).await;
    let stranger = TaskId::new("0000000000000000000000000000ffff".parse().unwrap());
    assert_eq!(driver.command(&send("hello")).await, CommandFate::Applied { mail: Some(MailId(0)) });
    let refused = driver.command(&Command::Forget(TaskParams { task: stranger })).await;
    assert!(matches!(refused, CommandFate::Refused { kind: RefusalKind::NoTask, .. }), "{refused:?}");
    driver.rest().await;
    driver.leave().await;
}

#[tokio::test]
async fn commands_interrupt_and_stop_too() {
    let stage = scenario().model(relay([silence(), silence(), script(&rules("  - answer: [say: hi]\n"))])).ready();
    let mut driver = stage.open(Start::New).await;
    for (number, command) in [(1, Command::Interrupt), (2, Command::Stop)] {
        driver.send("go", Delivery::FollowUp).await;
        driver.asked(number).await;
        driver.command(&command).await;
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
    let id = stage.open(Start::New).await.leave().await.id();
    let stranger = TaskId::new("0000000000000000000000000000ffff".parse().unwrap());
    let hopeless = SendParams {
        task: Some(stranger),
        text: "hi".into(),
        images: Vec::new(),
        delivery: Delivery::Steer,
        display: None,
    };
    for command in [Command::Send(hopeless), send("after")] {
        post_command(stage.home(), id, &command, FakeClock::START).unwrap();
    }
    let mut driver = stage.open(Start::Resume(id)).await;
    driver.resume().await;
    driver.until("an answer", ended).await;
    let run = driver.leave().await;
    assert_eq!(Reader::open(stage.home(), run.id()).unwrap().pending_commands().unwrap(), []);
    assert_eq!(run.count(ended), 1);
}
