//! Commands from another process: sent to the socket of a running session, or stored in the file of an unowned one.

use std::sync::Arc;

use insta::assert_snapshot;
use protocol::api::{CommandFate, CommandOutcome, Method, RefusalKind, SendParams, SessionCommand, TaskParams};
use protocol::{Event, MailDelivery, MailId, TaskId, TaskOutcome};
use rpc::RpcClient;
use runtime::SessionStart;
use store::{SessionReader, post_command};
use testkit::session::{FakeClock, SessionFixture, scenario};

use crate::support::{Gate, relay, rules, script, silent_model};

fn echoing_session() -> SessionFixture {
    scenario().script(&rules("  - answer: [say: \"heard: ${prompt}\"]\n")).ready()
}

fn send(text: &str) -> SessionCommand {
    SessionCommand::Send(SendParams {
        task: None,
        text: text.into(),
        images: Vec::new(),
        delivery: MailDelivery::FollowUp,
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
    let mut driver = stage.open(SessionStart::New).await;
    let (client, _notifications) = RpcClient::connect(&stage.home().socket(driver.id())).await.unwrap();
    let _: CommandFate = client.call(Method::SessionCommand, send("at once")).await.unwrap();
    driver.until("an answer", ended).await;
    let id = driver.leave().await.id();

    post_command(stage.home(), id, &send("while nobody was there"), FakeClock::START).unwrap();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    assert!(driver.session().has_work().await.unwrap(), "a command waits");
    driver.resume().await;
    assert!(!driver.session().status().borrow().quiet, "after `resume`, the work of stored commands is visible");
    gate.open();
    driver.until("an answer", ended).await;
    assert_eq!(SessionReader::open(stage.home(), id).unwrap().pending_commands().unwrap(), []);
    assert!(!driver.session().has_work().await.unwrap());
    assert_snapshot!(driver.leave().await.transcript());
}

#[tokio::test]
async fn the_sender_of_a_command_gets_its_outcome() {
    let stage = echoing_session();
    let mut driver = stage.open(SessionStart::New).await;
    let stranger = TaskId::new("0000000000000000000000000000ffff".parse().unwrap());
    assert_eq!(driver.command(&send("hello")).await, CommandOutcome::Applied { mail: Some(MailId(0)) });
    let refused = driver.command(&SessionCommand::Forget(TaskParams { task: stranger })).await;
    assert!(matches!(refused, CommandOutcome::Refused { kind: RefusalKind::NoTask, .. }), "{refused:?}");
    driver.rest().await;
    driver.leave().await;
}

#[tokio::test]
async fn commands_can_interrupt_and_stop() {
    let stage =
        scenario().model(relay([silent_model(), silent_model(), script(&rules("  - answer: [say: hi]\n"))])).ready();
    let mut driver = stage.open(SessionStart::New).await;
    for (number, command) in [(1, SessionCommand::Interrupt), (2, SessionCommand::Stop)] {
        driver.send("go", MailDelivery::FollowUp).await;
        driver.asked(number).await;
        driver.command(&command).await;
        driver.until("an end", ended).await;
    }
    driver.rest().await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.rest().await;
    assert_eq!(driver.leave().await.outcome(), Some(&TaskOutcome::Completed));
}

#[tokio::test]
async fn a_command_that_cannot_be_applied_is_dropped_and_blocks_no_other() {
    let stage = echoing_session();
    let id = stage.open(SessionStart::New).await.leave().await.id();
    let stranger = TaskId::new("0000000000000000000000000000ffff".parse().unwrap());
    let unknown_recipient = SendParams {
        task: Some(stranger),
        text: "hi".into(),
        images: Vec::new(),
        delivery: MailDelivery::Steer,
        display: None,
    };
    for command in [SessionCommand::Send(unknown_recipient), send("after")] {
        post_command(stage.home(), id, &command, FakeClock::START).unwrap();
    }
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.until("an answer", ended).await;
    let run = driver.leave().await;
    assert_eq!(SessionReader::open(stage.home(), run.id()).unwrap().pending_commands().unwrap(), []);
    assert_eq!(run.count(ended), 1);
}
