//! A file that this version wrote reads the same in every later one. `BOSUN_BLESS=1` writes it anew.

use std::path::PathBuf;

use host::Home;
use protocol::api::{Command, SessionView, TaskView};
use protocol::{
    Activation, Answer, AnswerStatus, At, Attempt, Block, Body, Call, CallId, Cancel, CancelBy, Cost, Delivery, Entry,
    Event, FailKind, Fence, Kind, MailId, ModelFault, Origin, Outcome, Permission, StopReason, TaskState, Turn, Usage,
    WaitEnd, WaitMode,
};
use store::{SqlLimits, SqlSpace, post_command};

use crate::support::*;

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1.db")
}

/// One of every event.
fn entries() -> Vec<Entry> {
    let (call, child) = (CallId("call-1".into()), task(2));
    let usage = Usage { input: 100, output: 20, cache_read: 3, cache_write: 4 };
    let failed = Outcome::Failed { kind: FailKind::Model, message: "no answer".into() };
    let said = vec![
        Block::Thinking { text: "first the child".into() },
        Block::Call(Call { id: call.clone(), tool: "task".into(), input: r#"{"name":"tests"}"#.into() }),
        Block::Opaque { provider: "anthropic".into(), json: r#"{"signature":"x=="}"#.into() },
    ];
    let of_root = [
        Event::SessionForked { from: session(7) },
        Event::SessionAdopted { fence: Fence(1), terms: terms() },
        Event::AdmissionClosed,
        Event::AdmissionOpened,
        Event::ActivationStarted { activation: Activation(1), attempt: Attempt(1) },
        Event::MailDelivered { mail: vec![MailId(1)] },
        begun(1),
        Event::TurnFailed {
            turn: Turn(1),
            fault: ModelFault::RetryAfter { millis: 10 },
            message: "slow down".into(),
            cost: Cost { tokens: 1, micros: 2 },
        },
        begun(1),
        Event::TurnAnswered {
            turn: Turn(1),
            content: said,
            stop: StopReason::Calls,
            usage,
            cost: Cost { tokens: 127, micros: 50 },
            model: "demo-2026".into(),
        },
        Event::IntentReported { intent: "counting".into() },
        Event::CallStarted { call: call.clone() },
    ];
    let of_child = [
        Event::TaskCreated(spec(Some(task(1)), "tests")),
        Event::TaskPromoted,
        Event::ActivationStarted { activation: Activation(1), attempt: Attempt(1) },
        Event::TaskParked { until_at: At(9_000) },
        Event::TaskRequeued,
        Event::TaskInterrupted,
        Event::CancelRequested { by: CancelBy::User, how: Cancel::Abort },
        Event::ActivationEnded { activation: Activation(1), outcome: failed.clone(), text: "12 so far".into() },
        Event::TaskFinished { outcome: failed },
        Event::TaskRequeued,
    ];
    let of_root_again = [
        Event::WaitBegan { call: call.clone(), on: vec![child], mode: WaitMode::All, until_at: Some(At(80)) },
        Event::WaitEnded { call: call.clone(), why: WaitEnd::Satisfied },
        Event::SlotRegained,
        Event::CallAnswered { call, answer: Answer { status: AnswerStatus::Done, text: "12 so far".into() } },
        Event::MailAdmitted {
            mail: MailId(2),
            from: Origin::Task { id: child },
            delivery: Delivery::FollowUp,
            body: Body::Result { task: child, activation: Activation(1) },
        },
        Event::MailExpired { mail: MailId(2) },
        Event::ActivationEnded { activation: Activation(1), outcome: Outcome::Completed, text: "There are 12.".into() },
    ];
    let mut entries = opening();
    entries.extend((20..).zip(of_root).map(|(at, event)| entry(at, event)));
    entries.extend((40..).zip(of_child).map(|(at, event)| Entry { task: child, ..entry(at, event) }));
    entries.extend((60..).zip(of_root_again).map(|(at, event)| entry(at, event)));
    entries
}

fn tasks() -> Vec<TaskView> {
    let root = TaskView {
        id: task(1),
        parent: None,
        kind: Kind::Main,
        agent: "general".into(),
        path: "/root".into(),
        description: "what root is for".into(),
        state: TaskState::Idle,
        last_outcome: Some(Outcome::Completed),
        intent: Some("counting".into()),
        result: Some("There are 12.".into()),
        turns: 1,
        usage: Usage { input: 100, output: 20, cache_read: 3, cache_write: 4 },
        cost_micros: 52,
        created_at: At(11),
        updated_at: At(66),
    };
    let failed = Outcome::Failed { kind: FailKind::Model, message: "no answer".into() };
    let child = TaskView {
        id: task(2),
        parent: Some(task(1)),
        kind: Kind::Agent,
        path: "/root/tests".into(),
        description: "what tests is for".into(),
        state: TaskState::Finished { outcome: failed.clone() },
        last_outcome: Some(failed),
        intent: None,
        result: Some("12 so far".into()),
        turns: 0,
        usage: Usage::default(),
        cost_micros: 0,
        created_at: At(40),
        updated_at: At(49),
        ..root.clone()
    };
    vec![root, child]
}

fn view() -> SessionView {
    SessionView {
        id: session(1),
        cwd: "/src".into(),
        model: "script/demo".into(),
        permission: Permission::AllowAll,
        max_turns: Some(7),
        title: "Count the tests".into(),
        created_at: At(20),
        updated_at: At(66),
        state: TaskState::Idle,
        last_outcome: Some(Outcome::Completed),
        owner_pid: None,
        events: u64::try_from(entries().len()).unwrap(),
        turns: 1,
        usage: Usage { input: 100, output: 20, cache_read: 3, cache_write: 4 },
    }
}

/// Writes the golden file from nothing but the store's own doors.
fn bless() {
    let house = house();
    let opened = create(&house.home, session(1));
    commit(&opened.writer, entries()).unwrap();
    post_command(&house.home, session(1), &Command::Interrupt, At(70)).unwrap();
    let path = house.home.session_db(session(1));
    let space = SqlSpace::open(&path, SqlLimits::default()).unwrap();
    let todo =
        "INSERT INTO todos VALUES ('a', 'read', NULL, 'done', '-', '-'), ('b', 'write', NULL, 'pending', '-', '-');
                INSERT INTO todo_deps VALUES ('b', 'a')";
    space.run(todo, || false).unwrap();
    drop(space);
    opened.writer.release().unwrap();
    std::fs::create_dir_all(file().parent().unwrap()).unwrap();
    std::fs::copy(&path, file()).unwrap();
}

#[test]
fn the_golden_file_opens_and_says_what_it_said() {
    if blessing() {
        bless();
    }
    let house = house();
    let home = &house.home;
    home.make_session(session(1)).unwrap();
    std::fs::copy(file(), home.session_db(session(1))).unwrap();

    let opened = adopt(home, session(1));
    assert_eq!(opened.fence, Fence(2));
    assert_eq!(opened.log.into_iter().map(|envelope| envelope.entry).collect::<Vec<_>>(), entries());
    assert_projected(home);
    assert_eq!(reader(home, session(1)).pending_commands().unwrap(), [(1, Command::Interrupt)]);
    let conn = raw(&home.session_db(session(1)));
    assert_eq!(strings(&conn, "SELECT title FROM todos JOIN todo_deps ON id = depends_on"), ["read"]);
}

#[test]
fn the_same_events_project_to_the_same_rows() {
    let house = house();
    let opened = create(&house.home, session(1));
    for entry in entries() {
        commit(&opened.writer, vec![entry]).unwrap();
    }
    assert_projected(&house.home);
}

#[track_caller]
fn assert_projected(home: &Home) {
    let reader = reader(home, session(1));
    let page = reader.tasks(0, 100).unwrap();
    assert_eq!((page.total, page.tasks), (2, tasks()));
    assert_eq!(reader.tasks(1, 1).unwrap().tasks, tasks()[1..]);
    assert_eq!(reader.session_view().unwrap(), view());
    assert_eq!(reader.events_after(2, 3).unwrap().len(), 3);
    let conn = raw(&home.session_db(session(1)));
    assert_eq!(strings(&conn, "SELECT state FROM bosun_mail ORDER BY mail"), ["delivered", "expired"]);
    let turn =
        "SELECT concat_ws(' ', turn, activation, model, input, output, cost_tokens, cost_micros) FROM bosun_turns";
    assert_eq!(strings(&conn, turn), ["1 1 demo-2026 100 20 128 52"]);
}

#[test]
fn an_event_of_a_newer_version_is_kept_as_unknown() {
    let house = house();
    drop(create(&house.home, session(1)));
    let newer = r#"INSERT INTO bosun_events (seq, v, at, task, body) VALUES
        (1, 2, 5, 'task-00000000000000000000000000000001', '{"type":"taskParked","until":"dawn"}'),
        (2, 2, 5, 'task-00000000000000000000000000000001', '{"type":"levitated"}'),
        (3, 1, 5, 'task-00000000000000000000000000000001', '{"type":"admissionClosed"}')"#;
    raw(&house.home.session_db(session(1))).execute(newer, []).unwrap();
    let events: Vec<_> = adopt(&house.home, session(1)).log.into_iter().map(|envelope| envelope.entry.event).collect();
    assert_eq!(events, [Event::Unknown, Event::Unknown, Event::AdmissionClosed]);
}
