//! Tests a question that a tool call asks the user: asked once, kept across owners, answered with the user's text.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use host::Home;
use policy::Policy;
use protocol::api::DecideParams;
use protocol::{AskDecision, CallId, Event, MailDelivery, PermissionMode};
use store::SessionReader;
use tools::{UserPrompter, UserQuestion};

use super::{Session, SessionStart};
use crate::SessionSettings;
use crate::asks::UserAsker;
use crate::bus::{BusMessage, Subscription};
use crate::call_waits::{CallWaits, Caller};

/// Calls a tool that stays open: a wait for a command that does not end.
const WAIT_SCRIPT: &str = "
version: 1
rules:
  - when: { turn: 1 }
    answer: [call: { id: q, tool: shell, input: { command: sleep 60 } }]
  - answer: [say: done]
";

fn settings(folder: &Path) -> SessionSettings {
    let home = Home::open(folder.join("home")).unwrap();
    let model = Arc::new(model::ScriptModel::parse(WAIT_SCRIPT, "test.yaml").unwrap());
    SessionSettings {
        policy: Policy { mode: PermissionMode::AllowAll, ..Policy::default() },
        ask_wait: None,
        guardian: testkit::session::guardian(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        ..SessionSettings::minimal(home, folder.join("work"), model, "script/test.yaml")
    }
}

/// The asker of the session's open call.
async fn asker(session: &Session) -> UserAsker {
    let root = session.root;
    let supervisor = session.supervision.supervisor.clone();
    let run_and_turn = supervisor.query(move |kernel| kernel.task(root).map(|task| (task.run_id(), task.turn))).await;
    let (run, turn) = run_and_turn.unwrap().unwrap();
    let caller = Caller {
        supervisor,
        run,
        turn,
        call: CallId("q".into()),
        waits: CallWaits::default(),
        reported_results: Arc::default(),
    };
    UserAsker { context: Arc::clone(&session.context), caller }
}

async fn wait_for_call_start(events: &mut Subscription) {
    while let Some(message) = events.next().await.unwrap() {
        if matches!(message, BusMessage::Event(envelope) if matches!(envelope.entry.event, Event::CallStarted { .. })) {
            return;
        }
    }
}

fn question(text: &str) -> UserQuestion {
    UserQuestion { question: text.into(), choices: vec!["left".into(), "right".into()] }
}

async fn wait_for_asks(session: &Session, count: usize) {
    let mut status = session.status();
    let reached = status.wait_for(|status| status.asks == count);
    tokio::time::timeout(Duration::from_secs(20), reached).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_question_survives_its_owner_and_only_its_call_gets_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("work")).unwrap();
    let session = Session::open(settings(folder.path()), SessionStart::New).await.unwrap();
    let mut events = session.subscribe(0);
    session.send("go", MailDelivery::FollowUp).await.unwrap();
    wait_for_call_start(&mut events).await;
    let first = asker(&session).await;
    tokio::select! {
        answer = first.ask(question("which?")) => panic!("answered without a decision: {answer:?}"),
        () = wait_for_asks(&session, 1) => {}
    }
    drop(first);
    let (home, id) = (session.home().clone(), session.id());
    session.leave().await.unwrap();

    let session = Session::open(settings(folder.path()), SessionStart::Resume(id)).await.unwrap();
    let asks = SessionReader::open(&home, id).unwrap().asks(false).unwrap();
    assert_eq!(asks.len(), 1);
    let resumed = asker(&session).await;
    let decide = async {
        let decision = AskDecision::Reply { text: "left".into() };
        session.decide(DecideParams { ask: asks[0].ask.id.clone(), decision }).await.unwrap();
        // The supervisor does this for the waits of a run.
        resumed.caller.waits.finish(&resumed.caller.call);
    };
    let (answer, ()) = tokio::join!(resumed.ask(question("which?")), decide);
    assert_eq!(answer.unwrap().as_deref(), Some("left"));
    // The tool may run again before its answer is committed; a different question does not get that answer.
    assert_eq!(resumed.ask(question("which?")).await.unwrap().as_deref(), Some("left"));
    let other = resumed.ask(question("and then?")).await;
    assert!(other.is_err(), "the call is over: {other:?}");
    session.leave().await.unwrap();
}
