//! A file that a version wrote reads the same in every later one. `BOSUN_BLESS=1` writes the newest form's file anew;
//! those of older forms are what older versions wrote, and never change.

use std::path::PathBuf;

use host::Home;
use protocol::api::{Command, SessionView, TaskView};
use protocol::{
    Activation, Answer, AnswerStatus, At, Attempt, Block, Body, Budget, Call, CallId, Cancel, CancelBy, Compaction,
    Cost, Delivery, Effort, Entry, Event, FailKind, Fence, Kind, MailId, ModelFault, Origin, Outcome, Permission,
    Price, StopReason, TaskState, Terms, Turn, Usage, WaitEnd, WaitMode, WrapUp,
};
use store::{Reader, Spending, SqlLimits, SqlSpace, StoreError, post_command};

use crate::support::*;

/// The newest form.
const NEWEST: u32 = 2;

fn file(form: u32) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/v{form}.db"))
}

/// One of every event that the first form knew.
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

const BUDGET: Budget = Budget { tokens: Some(1_000), micros: Some(2_000_000) };

/// One of every event since, in a turn whose tokens have a price.
fn more_entries() -> Vec<Entry> {
    let price = Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 };
    let (asked, turn, reserved) = ("anthropic/claude".to_owned(), Turn(2), Cost { tokens: 40, micros: 90 });
    let asks = Event::TurnBegun { turn, model: asked.clone(), reserved, price: Some(price), max_output: Some(9) };
    let usage = Usage { input: 5, output: 6, cache_read: 0, cache_write: 0 };
    let (spent, fault, model) = (Cost { tokens: 11, micros: 105 }, ModelFault::Transient, "claude-2026".to_owned());
    let events = [
        Event::SessionAdopted {
            fence: Fence(1),
            terms: Terms { budget: BUDGET, effort: Some(Effort::High), ..terms() },
        },
        asks.clone(),
        Event::TurnFailed { turn, fault, message: "cut".into(), cost: reserved },
        asks,
        Event::TurnAnswered {
            turn,
            content: Vec::new(),
            stop: StopReason::End,
            usage,
            cost: spent,
            model: model.clone(),
        },
        Event::ModelDiffered { turn, asked, answered: model },
        Event::BudgetLow { spent, budget: BUDGET },
        Event::WrapUpBegan { why: WrapUp::Budget },
        Event::Compacted(Compaction { messages: 3, digest: Some("what was before".into()) }),
    ];
    (70..).zip(events).map(|(at, event)| entry(at, event)).collect()
}

/// What a file of this form holds.
fn written(form: u32) -> Vec<Entry> {
    let mut all = entries();
    if form > 1 {
        all.extend(more_entries());
    }
    all
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
        budget: Budget::default(),
        effort: None,
        title: "Count the tests".into(),
        created_at: At(20),
        updated_at: At(66),
        state: TaskState::Idle,
        last_outcome: Some(Outcome::Completed),
        owner_pid: None,
        events: u64::try_from(entries().len()).unwrap(),
        turns: 1,
        usage: Usage { input: 100, output: 20, cache_read: 3, cache_write: 4 },
        spent: Cost { tokens: 128, micros: 52 },
        priced: false,
    }
}

/// The same with what came since.
fn newer_view() -> SessionView {
    SessionView {
        budget: BUDGET,
        effort: Some(Effort::High),
        updated_at: At(78),
        events: u64::try_from(written(NEWEST).len()).unwrap(),
        turns: 2,
        usage: Usage { input: 105, output: 26, cache_read: 3, cache_write: 4 },
        spent: Cost { tokens: 179, micros: 247 },
        ..view()
    }
}

/// What the first form's turn came to.
fn spending() -> Spending {
    Spending {
        task: task(1),
        path: "/root".into(),
        agent: "general".into(),
        asked: "script/demo".into(),
        answered: Some("demo-2026".into()),
        turns: 1,
        usage: Usage { input: 100, output: 20, cache_read: 3, cache_write: 4 },
        cost: Cost { tokens: 128, micros: 52 },
        lost: Cost { tokens: 1, micros: 2 },
        priced: false,
    }
}

fn newer_spending() -> Spending {
    Spending {
        asked: "anthropic/claude".into(),
        answered: Some("claude-2026".into()),
        usage: Usage { input: 5, output: 6, cache_read: 0, cache_write: 0 },
        cost: Cost { tokens: 51, micros: 195 },
        lost: Cost { tokens: 40, micros: 90 },
        priced: true,
        ..spending()
    }
}

/// Writes the golden file from nothing but the store's own doors.
fn bless() {
    let house = house();
    let opened = create(&house.home, session(1));
    commit(&opened.writer, written(NEWEST)).unwrap();
    post_command(&house.home, session(1), &Command::Interrupt, At(70)).unwrap();
    let path = house.home.session_db(session(1));
    let space = SqlSpace::open(&path, SqlLimits::default()).unwrap();
    let todo =
        "INSERT INTO todos VALUES ('a', 'read', NULL, 'done', '-', '-'), ('b', 'write', NULL, 'pending', '-', '-');
                INSERT INTO todo_deps VALUES ('b', 'a')";
    space.run(todo, || false).unwrap();
    drop(space);
    opened.writer.release().unwrap();
    std::fs::copy(&path, file(NEWEST)).unwrap();
}

/// A home whose only session is the golden one of this form.
fn unpacked(form: u32) -> House {
    let house = house();
    house.home.make_session(session(1)).unwrap();
    std::fs::copy(file(form), house.home.session_db(session(1))).unwrap();
    house
}

#[test]
fn golden_files_of_every_form_open_and_say_what_they_said() {
    if blessing() {
        bless();
    }
    for form in 1..=NEWEST {
        let house = unpacked(form);
        let home = &house.home;
        let opened = adopt(home, session(1));
        assert_eq!(opened.fence, Fence(2));
        assert_eq!(opened.log.into_iter().map(|envelope| envelope.entry).collect::<Vec<_>>(), written(form));
        assert_projected(home, form);
        assert_eq!(reader(home, session(1)).pending_commands().unwrap(), [(1, Command::Interrupt)]);
        let conn = raw(&home.session_db(session(1)));
        assert_eq!(strings(&conn, "SELECT title FROM todos JOIN todo_deps ON id = depends_on"), ["read"]);
    }
}

#[test]
fn a_file_of_an_older_form_is_read_and_copied_without_being_owned() {
    let house = unpacked(1);
    assert_projected(&house.home, 1);
    let house = unpacked(1);
    store::copy_session(&house.home, session(1), session(2)).unwrap();
    assert_eq!(reader(&house.home, session(2)).spendings(At(0)).unwrap(), [spending()]);
}

#[test]
fn a_file_that_an_older_version_writes_stays_as_it_is() {
    let house = unpacked(1);
    let me = me();
    let held =
        format!("UPDATE bosun_lease SET held = 1, boot = '{}', pid = {}, started = {}", me.boot, me.pid, me.started);
    raw(&house.home.session_db(session(1))).execute(&held, []).unwrap();
    let refused = Reader::open(&house.home, session(1)).map(|_| ());
    assert!(matches!(refused, Err(StoreError::Older { .. })), "{refused:?}");
}

#[test]
fn the_same_events_project_to_the_same_rows() {
    let house = house();
    let opened = create(&house.home, session(1));
    for entry in entries() {
        commit(&opened.writer, vec![entry]).unwrap();
    }
    assert_projected(&house.home, 1);
    for entry in more_entries() {
        commit(&opened.writer, vec![entry]).unwrap();
    }
    assert_projected(&house.home, NEWEST);
}

#[track_caller]
fn assert_projected(home: &Home, form: u32) {
    let reader = reader(home, session(1));
    let (view, spendings) = match form {
        1 => (view(), vec![spending()]),
        _newer => (newer_view(), vec![spending(), newer_spending()]),
    };
    assert_eq!(reader.session_view().unwrap(), view);
    assert_eq!(reader.spendings(At(0)).unwrap(), spendings);
    assert_eq!(reader.spendings(At(1_000)).unwrap(), []);
    let page = reader.tasks(0, 100).unwrap();
    assert_eq!((page.total, &page.tasks[1..]), (2, &tasks()[1..]));
    if form == 1 {
        assert_eq!(page.tasks, tasks());
    }
    assert_eq!(reader.tasks(1, 1).unwrap().tasks, tasks()[1..]);
    assert_eq!(reader.events_after(2, 3).unwrap().len(), 3);
    let conn = raw(&home.session_db(session(1)));
    assert_eq!(strings(&conn, "SELECT state FROM bosun_mail ORDER BY mail"), ["delivered", "expired"]);
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
