//! Commands to sessions that run, rest, or change their owner meanwhile.

use std::time::Duration;

use bosun_client::{ClientError, EditedTodos, SessionHandle};
use protocol::api::{
    CommandFate, CommandOutcome, DecideParams, ModeParams, NewTodo, RefusalKind, SendParams, SessionCommand,
    StopTaskParams, TaskParams, TodoEdit, TodosParams, calls,
};
use protocol::{
    AskDecision, AskId, CancelMode, Envelope, Event, MailBody, MailDelivery, SessionId, SessionMode, TaskId,
};
use testkit::session::{SessionFixture, SessionStart, scenario};

fn message(text: &str) -> SessionCommand {
    let text = text.to_owned();
    SessionCommand::Send(SendParams {
        task: None,
        text,
        images: Vec::new(),
        delivery: MailDelivery::FollowUp,
        display: None,
    })
}

/// How often the log has a message with this text.
fn count_messages(log: &[Envelope], wanted: &str) -> usize {
    let is_wanted = |envelope: &&Envelope| match &envelope.entry.event {
        Event::MailAdmitted { body: MailBody::Text { text, .. }, .. } => text == wanted,
        _other => false,
    };
    log.iter().filter(is_wanted).count()
}

/// A session that has answered one prompt and was left, and its root.
async fn resting(stage: &SessionFixture) -> (SessionId, TaskId) {
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.rest().await;
    let root = driver.session().root();
    (driver.leave().await.id(), root)
}

#[tokio::test]
async fn what_becomes_of_each_command_while_the_session_rests() {
    let stage = scenario().script(crate::SAYS_DONE).ready();
    let (id, root) = resting(&stage).await;
    let session = SessionHandle::new(stage.home(), id);
    let unknown = TaskId::new(uuid::Uuid::nil());
    let decision = DecideParams { ask: AskId("a".into()), decision: AskDecision::Deny { message: String::new() } };
    let queued = [
        message("later"),
        SessionCommand::Decide(decision),
        SessionCommand::StopTask(StopTaskParams { task: root, how: CancelMode::WrapUp }),
        SessionCommand::SetMode(ModeParams { mode: SessionMode::Plan }),
    ];
    for command in queued {
        assert_eq!(session.give(&command).await.unwrap(), CommandFate::Queued, "{command:?}");
    }
    let by_method = session.call::<calls::SessionCommand>(&message("by its method"), Duration::from_secs(20)).await;
    assert_eq!(by_method.unwrap(), CommandFate::Queued);
    for command in [SessionCommand::Stop, SessionCommand::StopFleet] {
        assert_eq!(session.give(&command).await.unwrap(), CommandFate::NothingToDo, "{command:?}");
    }
    for command in [SessionCommand::Interrupt, SessionCommand::Promote(TaskParams { task: root })] {
        let fate = session.give(&command).await;
        assert!(matches!(fate, Err(ClientError::NotRunning(of)) if of == id), "{command:?}: {fate:?}");
    }
    for (task, expected) in [(root, RefusalKind::NotEnded), (unknown, RefusalKind::NoTask)] {
        let fate = session.give(&SessionCommand::Forget(TaskParams { task })).await.unwrap();
        assert!(
            matches!(fate, CommandFate::Answered { outcome: CommandOutcome::Refused { kind, .. } } if kind == expected),
            "{fate:?}"
        );
    }
}

#[tokio::test]
async fn a_queued_message_is_applied_once_by_the_next_owner() {
    let stage = scenario().script(crate::SAYS_DONE).ready();
    let (id, _root) = resting(&stage).await;
    let session = SessionHandle::new(stage.home(), id);
    assert_eq!(session.give(&message("while it rests")).await.unwrap(), CommandFate::Queued);
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    let fate = session.give(&message("while it runs")).await.unwrap();
    assert!(matches!(fate, CommandFate::Answered { outcome: CommandOutcome::Applied { mail: Some(_) } }), "{fate:?}");
    driver.rest().await;
    let run = driver.leave().await;
    for text in ["while it rests", "while it runs"] {
        assert_eq!(count_messages(run.events(), text), 1, "{text}");
    }
}

/// Owners come and go while messages are given: each is applied once, or its sender learns that it may be lost.
#[tokio::test]
async fn no_message_is_applied_twice_or_lost_in_silence() {
    let stage = scenario().script(crate::SAYS_DONE).ready();
    let (id, _root) = resting(&stage).await;
    let session = SessionHandle::new(stage.home(), id);
    let giving = async {
        let mut fates = Vec::new();
        for n in 0..60 {
            let text = format!("message {n}");
            let fate = session.give(&message(&text)).await;
            fates.push((text, fate.is_ok()));
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        fates
    };
    let owning = async {
        for _ in 0..8 {
            let mut driver = stage.open(SessionStart::Resume(id)).await;
            driver.resume().await;
            driver.rest().await;
            driver.leave().await;
        }
    };
    let (fates, ()) = tokio::join!(giving, owning);
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    let run = driver.leave().await;
    for (text, is_promised) in fates {
        let count = count_messages(run.events(), &text);
        assert!(count == 1 || (count == 0 && !is_promised), "{text}: {count} times, promised: {is_promised}");
    }
}

#[tokio::test]
async fn todos_are_edited_by_the_owner_or_in_the_file() {
    let stage = scenario().script(crate::SAYS_DONE).ready();
    let (id, _root) = resting(&stage).await;
    let session = SessionHandle::new(stage.home(), id);
    let add = |title: &str| vec![TodoEdit::Add(NewTodo { title: title.into(), ..NewTodo::default() })];
    let EditedTodos { ids, is_applied } = session.edit_todos(add("at rest")).await.unwrap();
    assert_eq!((ids.len(), is_applied), (1, false));
    let driver = stage.open(SessionStart::Resume(id)).await;
    let EditedTodos { ids, is_applied } = session.edit_todos(add("at work")).await.unwrap();
    assert_eq!((ids.len(), is_applied), (1, true));
    driver.leave().await;
    let todos = session.todos(&TodosParams::all_todos()).unwrap().todos;
    let titles: Vec<&str> = todos.iter().map(|todo| &*todo.title).collect();
    assert_eq!(titles, ["at rest", "at work"]);
}
