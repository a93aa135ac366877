//! Tests of boards built from invented events, drawn at several sizes.

use host::TerminalSize;
use protocol::api::TodoView;
use protocol::{Ask, AskDecision, AskId, AskSubject, DecidedBy, ToolResult, ToolResultStatus};
use protocol::{
    BlockReason, CallId, ContentBlock, Cost, Envelope, Event, FleetConfig, FleetEnd, LogEntry, Price, Principal,
    SessionId, StopReason, TaskId, TaskSpec, TaskType, Timestamp, Todo, TodoId, TodoStatus, ToolCallRequest, Turn,
    Usage,
};
use testkit::todos::todo_view;
use unicode_width::UnicodeWidthStr;

use super::board::FleetBoard;
use super::{draw, lines};
use crate::todo_mark::TodoMark;

const SMALL: TerminalSize = TerminalSize { columns: 80, rows: 24 };
const LARGE: TerminalSize = TerminalSize { columns: 200, rows: 60 };

#[derive(Default)]
struct FleetScenario {
    board: FleetBoard,
    seq: u64,
    now: u64,
    lines: Vec<String>,
    warned: std::collections::BTreeSet<String>,
}

fn task(n: u128) -> TaskId {
    TaskId::new(uuid::Uuid::from_u128(n))
}

fn todo(id: &str, title: &str, on: &[&str]) -> Todo {
    Todo { depends_on: on.iter().map(|id| TodoId::from(*id)).collect(), ..Todo::new(id, title) }
}

fn terms(goal: &str) -> FleetConfig {
    FleetConfig {
        agent: None,
        goal: goal.into(),
        parallel: Some(3),
        retries: 1,
        rounds: 1,
        isolated: true,
        dirty: false,
        merge: false,
        check: None,
        plan: None,
    }
}

impl FleetScenario {
    /// Applies an event this many seconds later.
    fn then(&mut self, seconds: u64, number: u128, event: Event) {
        self.seq += 1;
        self.now += seconds * 1000;
        let entry = LogEntry { task: task(number), at: Timestamp(self.now), event };
        let envelope =
            Envelope { v: Envelope::VERSION, seq: self.seq, session: SessionId::new(uuid::Uuid::nil()), entry };
        self.board.apply(&envelope);
        self.lines.extend(lines::event_line(&self.board, &envelope));
        self.lines.extend(lines::new_conflict_warnings(&self.board, &envelope, &mut self.warned));
    }

    fn agent(&mut self, number: u128, parent: u128) {
        let spec = TaskSpec { parent: Some(task(parent)), ..TaskSpec::new(TaskType::Agent, "general", "worker") };
        self.then(0, number, Event::TaskCreated(Box::new(spec)));
    }

    fn claim(&mut self, number: u128, todo: &str) {
        self.agent(number, 1);
        self.then(0, number, Event::TodoClaimed { todo: todo.into(), fence: 1, redo_reason: None });
    }

    fn calls(&mut self, number: u128, tool: &str, input: &str, tokens: u64) {
        let call = ToolCallRequest { id: CallId("c".into()), tool: tool.into(), input: input.into() };
        let answered = Event::TurnAnswered {
            turn: Turn(1),
            content: vec![ContentBlock::Text { text: "so".into() }, ContentBlock::Call(call)],
            stop: StopReason::Calls,
            usage: Usage::default(),
            cost: Cost { tokens, micros: tokens * 3 },
            model: "m".into(),
        };
        self.then(1, number, answered);
    }

    fn plan(&mut self, todos: Vec<Todo>) {
        self.then(0, 1, Event::TaskCreated(Box::new(TaskSpec::new(TaskType::Main, "main", "root"))));
        let by = Principal::User;
        self.then(0, 1, Event::TodosChanged { by, changed: todos, gone: Vec::new(), upto: 0 });
    }

    #[track_caller]
    fn drawn(&self, size: TerminalSize) -> String {
        let frame = draw::draw(&self.board, Timestamp(self.now), size);
        assert!(frame.len() <= size.rows, "{} rows", frame.len());
        let rows: Vec<String> = frame.iter().map(draw::row_text).collect();
        for row in &rows {
            assert!(row.width() <= size.columns, "{row}");
            assert!(!row.chars().any(char::is_control), "{row:?}");
        }
        rows.join("\n")
    }
}

/// A running fleet with everything that the live view can show.
fn running_fleet() -> FleetScenario {
    let mut scenario = FleetScenario::default();
    scenario.plan(vec![
        todo("lexer", "Write the lexer", &[]),
        todo("parser", "Write the parser, with good messages for whatever is wrong", &["lexer"]),
        todo("docs", "Write the manual", &[]),
        todo("bench", "Measure it", &["lexer"]),
        todo("release", "Release it", &["parser", "docs"]),
        todo("sign", "Sign it\u{1b}[31m\nnow", &[]),
        todo("日本", "翻訳する", &[]),
        todo("site", "Make the site", &[]),
    ]);
    let price = Some(Price { input: 1, output: 1, cache_read: 1, cache_write: 1 });
    let begun = Event::TurnBegun {
        turn: Turn(1),
        model: "m".into(),
        reserved: Cost::ZERO,
        price,
        max_output: None,
        quoted: protocol::QuotedTokens::default(),
    };
    scenario.then(0, 1, begun);
    scenario.then(5, 1, Event::FleetBegan(terms("Make a language that people like to read,\nand write")));
    scenario.then(0, 1, Event::TodoDone { todo: "site".into(), fence: None, reused: None });
    scenario.claim(2, "lexer");
    scenario.claim(3, "docs");
    scenario.claim(4, "sign");
    scenario.calls(2, "shell", r#"{"command":"cargo test\n lexer"}"#, 12_400);
    scenario.then(20, 2, Event::TodoDone { todo: "lexer".into(), fence: Some(1), reused: None });
    scenario.then(0, 2, Event::WorkMerged { todo: "lexer".into(), commit: "0123456789abcdef0123".into() });
    let why =
        BlockReason::Itself { reason: "there is no key\u{1b}]0;x\u{7} in this place, and nobody who has one".into() };
    scenario.then(1, 4, Event::TodoBlocked { todo: "sign".into(), why });
    scenario.claim(5, "parser");
    scenario.then(2, 5, Event::IntentReported { intent: "reading the grammar\rover".into() });
    scenario.agent(7, 5);
    scenario.calls(7, "view", r#"{"path":"g.txt"}"#, 900);
    scenario.calls(3, "edit", r#"{"path":"docs/manual.md"}"#, 3_300);
    scenario.claim(6, "日本");
    let failure = Some("the check `make` exited with 2".to_owned());
    scenario.then(3, 6, Event::TodoReturned { todo: "日本".into(), fence: 4, failure });
    scenario
}

#[test]
fn a_fleet_at_work_is_drawn_at_80_by_24() {
    insta::assert_snapshot!(running_fleet().drawn(SMALL));
}

#[test]
fn a_fleet_at_work_is_drawn_at_200_by_60() {
    insta::assert_snapshot!(running_fleet().drawn(LARGE));
}

#[test]
fn a_fleet_in_lines_has_one_for_each_change() {
    let mut scenario = running_fleet();
    scenario.then(9, 1, Event::FleetEnded { end: FleetEnd::Blocked, why: None });
    insta::assert_snapshot!(scenario.lines.join("\n"));
    let drawn = scenario.drawn(SMALL);
    assert!(drawn.starts_with("Fleet blocked  Make a language"), "{drawn}");
    assert!(!drawn.contains("left"), "{drawn}");
}

#[test]
fn more_than_fits_is_counted_and_every_size_is_kept_to() {
    let mut scenario = FleetScenario::default();
    scenario.plan((0..300).map(|n| todo(&format!("todo-number-{n}"), &format!("Do thing {n} "), &[])).collect());
    scenario.then(0, 1, Event::FleetBegan(terms("all")));
    for n in 0..100 {
        scenario.claim(10 + n, &format!("todo-number-{n}"));
    }
    for n in 100..150 {
        let why = BlockReason::Itself { reason: "no".into() };
        scenario.then(0, 1, Event::TodoBlocked { todo: format!("todo-number-{n}").as_str().into(), why });
    }
    insta::assert_snapshot!(scenario.drawn(SMALL));
    for columns in [1, 20, 33, 80, 200] {
        for rows in [5, 6, 8, 24, 60] {
            scenario.drawn(TerminalSize { columns: columns.max(20), rows });
        }
    }
    draw::draw(&scenario.board, Timestamp(scenario.now), TerminalSize { columns: 0, rows: 0 });
}

#[test]
fn time_left_is_estimated_from_finished_todos_and_parallelism() {
    let mut scenario = FleetScenario::default();
    scenario.plan((0..7).map(|n| todo(&format!("t{n}"), "x", &[])).collect());
    scenario.then(0, 1, Event::FleetBegan(terms("all")));
    assert_eq!(scenario.board.time_left(Timestamp(scenario.now)), None, "no todo has finished yet");
    scenario.claim(2, "t0");
    scenario.then(60, 2, Event::TodoDone { todo: "t0".into(), fence: Some(1), reused: None });
    assert_eq!(
        scenario.board.time_left(Timestamp(scenario.now)).unwrap().as_secs(),
        120,
        "six todos of a minute each, three at once"
    );
    scenario.claim(3, "t1");
    scenario.now += 30_000;
    assert_eq!(scenario.board.time_left(Timestamp(scenario.now)).unwrap().as_secs(), 110);
}

#[test]
fn time_left_is_unknown_after_one_short_todo_and_while_the_user_must_decide() {
    let mut scenario = FleetScenario::default();
    scenario.plan((0..4).map(|n| todo(&format!("t{n}"), "x", &[])).collect());
    scenario.then(0, 1, Event::FleetBegan(terms("all")));
    let left = |scenario: &FleetScenario| scenario.board.time_left(Timestamp(scenario.now)).map(|left| left.as_secs());
    scenario.claim(2, "t0");
    scenario.then(1, 2, Event::TodoDone { todo: "t0".into(), fence: Some(1), reused: None });
    assert_eq!(left(&scenario), None, "one todo of a second says nothing");
    scenario.claim(3, "t1");
    scenario.then(29, 3, Event::TodoDone { todo: "t1".into(), fence: Some(1), reused: None });
    assert_eq!(left(&scenario), Some(15));
    scenario.claim(4, "t2");
    let (id, call) = (AskId("a".into()), CallId("c".into()));
    let subject = AskSubject::Question { question: "Which?".into(), choices: Vec::new() };
    scenario.then(0, 4, Event::AskOpened(Ask { id: id.clone(), call: call.clone(), subject, until_at: None }));
    assert_eq!(left(&scenario), None, "the user may take any time");
    let decision = AskDecision::Reply { text: "this".into() };
    scenario.then(0, 4, Event::AskDecided { ask: id, call, decision, by: DecidedBy::User });
    assert_eq!(left(&scenario), Some(15));
}

#[test]
fn reused_todos_are_counted_until_they_are_done_again() {
    let mut scenario = FleetScenario::default();
    scenario.plan(vec![todo("a", "A", &[]), todo("b", "B", &[])]);
    scenario.then(0, 1, Event::FleetBegan(terms("all")));
    for id in ["a", "b"] {
        scenario.then(0, 1, Event::TodoDone { todo: id.into(), fence: None, reused: None });
    }
    assert!(scenario.drawn(SMALL).contains("2/2 done · 2 reused"), "{}", scenario.drawn(SMALL));
    scenario.claim(2, "a");
    scenario.then(1, 2, Event::TodoDone { todo: "a".into(), fence: Some(1), reused: None });
    assert!(scenario.drawn(SMALL).contains("2/2 done · 1 reused"), "{}", scenario.drawn(SMALL));
}

#[test]
fn fleet_without_todos_ends_without_a_count() {
    let mut scenario = FleetScenario::default();
    scenario.then(0, 1, Event::FleetBegan(terms("all")));
    scenario.then(3, 1, Event::FleetEnded { end: FleetEnd::Stopped, why: None });
    assert_eq!(scenario.lines.last().unwrap(), "fleet stopped: no todos after 3s, 0 tokens");
}

#[test]
fn worker_needs_you_while_it_or_its_agent_asks() {
    let mut scenario = running_fleet();
    let at_work =
        |scenario: &FleetScenario, mark| scenario.board.items().iter().filter(|(_, _, other)| *other == mark).count();
    assert_eq!(at_work(&scenario, TodoMark::AtWork), 2);
    let subject = AskSubject::Permission {
        tool: "shell".into(),
        input: r#"{"command":"make\u001b[2J"}"#.into(),
        reason: "r".into(),
        rules: Vec::new(),
    };
    let ask = |id: &str, call: &str| {
        let (id, call) = (AskId(id.into()), CallId(call.into()));
        Event::AskOpened(Ask { id, call, subject: subject.clone(), until_at: None })
    };
    scenario.then(1, 3, ask("a", "c"));
    // An agent that works for the parser's worker.
    scenario.then(1, 7, ask("b", "d"));
    assert_eq!((at_work(&scenario, TodoMark::AtWork), at_work(&scenario, TodoMark::NeedsYou)), (0, 2));
    let drawn = scenario.drawn(LARGE);
    assert!(drawn.contains("2 need you") && drawn.contains("? docs") && drawn.contains("? parser"), "{drawn}");
    assert!(drawn.contains("needs you (1): shell make[2J") && drawn.contains("needs you (2)"), "{drawn}");
    let decision = AskDecision::Deny { message: String::new() };
    let (ask, by) = (AskId("a".into()), DecidedBy::User);
    scenario.then(1, 3, Event::AskDecided { ask, call: CallId("c".into()), decision, by });
    let answer = ToolResult { status: ToolResultStatus::Cancelled, text: String::new() };
    scenario.then(1, 7, Event::CallAnswered { call: CallId("d".into()), answer, evidence: Vec::new() });
    assert_eq!((at_work(&scenario, TodoMark::AtWork), at_work(&scenario, TodoMark::NeedsYou)), (2, 0));
}

/// A row of the table as every view reads it.
fn row(id: &str, status: TodoStatus, interrupted: bool) -> TodoView {
    TodoView {
        status,
        interrupted,
        ready: status == TodoStatus::Pending,
        attempts: 1,
        ..todo_view(id, &format!("Do {id}"), &[])
    }
}

/// The live view matches the table, and its clocks are stopped.
#[test]
fn a_fleet_whose_process_was_killed_is_interrupted_and_its_clock_stands_still() {
    let mut scenario = FleetScenario::default();
    scenario.plan(["a", "b", "c"].map(|id| todo(id, &format!("Do {id}"), &[])).to_vec());
    scenario.then(0, 1, Event::FleetBegan(terms("all")));
    scenario.claim(2, "c");
    scenario.then(10, 2, Event::TodoDone { todo: "c".into(), fence: Some(1), reused: None });
    scenario.claim(3, "a");
    scenario.claim(4, "b");
    scenario.calls(3, "shell", "{}", 900);
    let rows = vec![row("a", TodoStatus::Done, false), row("b", TodoStatus::InProgress, true)];
    scenario.board.apply_todo_rows([rows, vec![row("c", TodoStatus::Done, false)]].concat(), true);
    assert!(scenario.board.is_interrupted() && !scenario.board.is_working());
    scenario.now += 1_000_000;
    let drawn = scenario.drawn(SMALL);
    insta::assert_snapshot!(drawn);
    assert!(!drawn.contains("at work") && !drawn.contains("left"), "{drawn}");
    // Resumed: the gap does not count as working time.
    let terms = serde_json::json!({"cwd": "/", "model": "m", "permission": "default", "version": "1"});
    let terms = serde_json::from_value(terms).unwrap();
    scenario.then(0, 1, Event::SessionAdopted { fence: protocol::Fence(2), config: terms });
    assert!(scenario.board.is_working());
    assert_eq!(scenario.board.elapsed(Timestamp(scenario.now)).as_secs(), 11);
}

/// Possible conflicts are shown before any worker starts.
#[test]
fn independent_todos_with_the_same_file_are_warned_about() {
    let named = |id: &str, on: &[&str]| Todo { files: vec!["src/x.rs".into()], ..todo(id, "Do it", on) };
    let warning = "may conflict: a and b both name src/x.rs, and neither waits for the other";
    let mut scenario = FleetScenario::default();
    scenario.plan(vec![named("a", &[]), named("b", &[]), named("c", &["a", "b"])]);
    scenario.then(0, 1, Event::FleetBegan(terms("all")));
    assert!(scenario.drawn(LARGE).contains(warning), "{}", scenario.drawn(LARGE));
    assert_eq!(scenario.lines.iter().filter(|line| *line == warning).count(), 1, "{:?}", scenario.lines);
    // Once one of them is done, the other starts from its result.
    scenario.claim(2, "a");
    scenario.then(1, 2, Event::TodoDone { todo: "a".into(), fence: Some(1), reused: None });
    assert!(!scenario.drawn(LARGE).contains("may conflict"), "{}", scenario.drawn(LARGE));
    // The plan changes.
    let by = Principal::User;
    let plan_change = Event::TodosChanged { by, changed: vec![named("d", &[])], gone: Vec::new(), upto: 0 };
    scenario.then(0, 1, plan_change);
    assert!(scenario.lines.last().unwrap().contains("b, c, d name src/x.rs, and do not all"), "{:?}", scenario.lines);
}

/// Todos that the user added while no process ran are in no log.
#[test]
fn todos_without_a_fleet_are_counted_from_their_rows() {
    let mut scenario = FleetScenario::default();
    scenario.board.apply_todo_rows(vec![row("a", TodoStatus::Done, false), row("b", TodoStatus::Pending, false)], true);
    assert_eq!(scenario.board.done_and_total(), (1, 2));
    assert!(scenario.drawn(SMALL).contains("1/2 done"), "{}", scenario.drawn(SMALL));
}

#[test]
fn restarted_fleet_keeps_its_todos_and_counts_from_zero() {
    let mut scenario = running_fleet();
    scenario.then(1, 1, Event::FleetEnded { end: FleetEnd::Stopped, why: None });
    scenario.then(100, 1, Event::FleetBegan(terms("again")));
    assert!(scenario.board.is_working() && scenario.board.end().is_none());
    assert_eq!(scenario.board.workers().len(), 0);
    assert_eq!(scenario.board.items().len(), 8);
    assert!(scenario.drawn(SMALL).starts_with("Fleet  again "), "{}", scenario.drawn(SMALL));
    let at_work =
        scenario.board.items().iter().filter(|(_, _, mark)| *mark == crate::todo_mark::TodoMark::AtWork).count();
    assert_eq!(at_work, 0, "no worker has an interrupted todo");
}
