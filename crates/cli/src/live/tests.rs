//! The board of a session that never ran, drawn at two sizes.

use host::TerminalSize;
use protocol::api::TodoView;
use protocol::{Ask, AskDecision, AskId, AskSubject, DecidedBy, ToolResult, ToolResultStatus};
use protocol::{
    BlockReason, CallId, ContentBlock, Cost, Envelope, Event, FleetConfig, FleetEnd, LogEntry, Price, Principal,
    SessionId, StopReason, TaskId, TaskSpec, TaskType, Timestamp, Todo, TodoId, TodoStatus, ToolCallRequest, Turn,
    Usage,
};
use unicode_width::UnicodeWidthStr;

use super::board::FleetBoard;
use super::{draw, lines};
use crate::todos::TodoMark;

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
    fn then(&mut self, seconds: u64, who: u128, event: Event) {
        self.seq += 1;
        self.now += seconds * 1000;
        let entry = LogEntry { task: task(who), at: Timestamp(self.now), event };
        let envelope =
            Envelope { v: Envelope::VERSION, seq: self.seq, session: SessionId::new(uuid::Uuid::nil()), entry };
        self.board.apply(&envelope);
        self.lines.extend(lines::event_line(&self.board, &envelope));
        self.lines.extend(lines::new_conflict_warnings(&self.board, &envelope, &mut self.warned));
    }

    fn agent(&mut self, who: u128, parent: u128) {
        let spec = TaskSpec { parent: Some(task(parent)), ..TaskSpec::new(TaskType::Agent, "general", "worker") };
        self.then(0, who, Event::TaskCreated(Box::new(spec)));
    }

    fn claim(&mut self, who: u128, todo: &str) {
        self.agent(who, 1);
        self.then(0, who, Event::TodoClaimed { todo: todo.into(), fence: 1 });
    }

    fn calls(&mut self, who: u128, tool: &str, input: &str, tokens: u64) {
        let call = ToolCallRequest { id: CallId("c".into()), tool: tool.into(), input: input.into() };
        let answered = Event::TurnAnswered {
            turn: Turn(1),
            content: vec![ContentBlock::Text { text: "so".into() }, ContentBlock::Call(call)],
            stop: StopReason::Calls,
            usage: Usage::default(),
            cost: Cost { tokens, micros: tokens * 3 },
            model: "m".into(),
        };
        self.then(1, who, answered);
    }

    fn plan(&mut self, todos: Vec<Todo>) {
        self.then(0, 1, Event::TaskCreated(Box::new(TaskSpec::new(TaskType::Main, "main", "root"))));
        let by = Principal::User;
        self.then(0, 1, Event::TodosChanged { by, changed: todos, gone: Vec::new(), upto: 0 });
    }

    #[track_caller]
    fn drawn(&self, size: TerminalSize) -> String {
        let picture = draw::draw(&self.board, Timestamp(self.now), size);
        assert!(picture.len() <= size.rows, "{} rows", picture.len());
        let rows: Vec<String> = picture.iter().map(draw::row_text).collect();
        for row in &rows {
            assert!(row.width() <= size.columns, "{row}");
            assert!(!row.chars().any(char::is_control), "{row:?}");
        }
        rows.join("\n")
    }
}

/// A running fleet with everything that the live view can show.
fn middle() -> FleetScenario {
    let mut story = FleetScenario::default();
    story.plan(vec![
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
    story.then(0, 1, begun);
    story.then(5, 1, Event::FleetBegan(terms("Make a language that people like to read,\nand write")));
    story.then(0, 1, Event::TodoDone { todo: "site".into(), fence: None, reused: None });
    story.claim(2, "lexer");
    story.claim(3, "docs");
    story.claim(4, "sign");
    story.calls(2, "shell", r#"{"command":"cargo test\n lexer"}"#, 12_400);
    story.then(20, 2, Event::TodoDone { todo: "lexer".into(), fence: Some(1), reused: None });
    story.then(0, 2, Event::WorkMerged { todo: "lexer".into(), commit: "0123456789abcdef0123".into() });
    let why =
        BlockReason::Itself { reason: "there is no key\u{1b}]0;x\u{7} in this place, and nobody who has one".into() };
    story.then(1, 4, Event::TodoBlocked { todo: "sign".into(), why });
    story.claim(5, "parser");
    story.then(2, 5, Event::IntentReported { intent: "reading the grammar\rover".into() });
    story.agent(7, 5);
    story.calls(7, "view", r#"{"path":"g.txt"}"#, 900);
    story.calls(3, "edit", r#"{"path":"docs/manual.md"}"#, 3_300);
    story.claim(6, "日本");
    let failure = Some("the check `make` exited with 2".to_owned());
    story.then(3, 6, Event::TodoReturned { todo: "日本".into(), fence: 4, failure });
    story
}

#[test]
fn a_fleet_at_work_is_drawn_at_80_by_24() {
    insta::assert_snapshot!(middle().drawn(SMALL));
}

#[test]
fn a_fleet_at_work_is_drawn_at_200_by_60() {
    insta::assert_snapshot!(middle().drawn(LARGE));
}

#[test]
fn a_fleet_in_lines_has_one_for_each_change() {
    let mut story = middle();
    story.then(9, 1, Event::FleetEnded { end: FleetEnd::Blocked });
    insta::assert_snapshot!(story.lines.join("\n"));
    let drawn = story.drawn(SMALL);
    assert!(drawn.starts_with("Fleet blocked  Make a language"), "{drawn}");
    assert!(!drawn.contains("left"), "{drawn}");
}

#[test]
fn more_than_fits_is_counted_and_every_size_is_kept_to() {
    let mut story = FleetScenario::default();
    story.plan((0..300).map(|n| todo(&format!("todo-number-{n}"), &format!("Do thing {n} "), &[])).collect());
    story.then(0, 1, Event::FleetBegan(terms("all")));
    for n in 0..100 {
        story.claim(10 + n, &format!("todo-number-{n}"));
    }
    for n in 100..150 {
        let why = BlockReason::Itself { reason: "no".into() };
        story.then(0, 1, Event::TodoBlocked { todo: format!("todo-number-{n}").as_str().into(), why });
    }
    insta::assert_snapshot!(story.drawn(SMALL));
    for columns in [1, 20, 33, 80, 200] {
        for rows in [5, 6, 8, 24, 60] {
            story.drawn(TerminalSize { columns: columns.max(20), rows });
        }
    }
    draw::draw(&story.board, Timestamp(story.now), TerminalSize { columns: 0, rows: 0 });
}

#[test]
fn the_time_left_is_what_finished_todos_took_shared_by_who_works_at_once() {
    let mut story = FleetScenario::default();
    story.plan((0..7).map(|n| todo(&format!("t{n}"), "x", &[])).collect());
    story.then(0, 1, Event::FleetBegan(terms("all")));
    assert_eq!(story.board.time_left(Timestamp(story.now)), None, "nothing is known yet");
    story.claim(2, "t0");
    story.then(60, 2, Event::TodoDone { todo: "t0".into(), fence: Some(1), reused: None });
    assert_eq!(
        story.board.time_left(Timestamp(story.now)).unwrap().as_secs(),
        120,
        "six of a minute each, three at once"
    );
    story.claim(3, "t1");
    story.now += 30_000;
    assert_eq!(story.board.time_left(Timestamp(story.now)).unwrap().as_secs(), 110);
}

/// B5: an asking worker showed as running.
#[test]
fn a_worker_that_asks_or_whose_agent_does_needs_you_until_it_is_decided() {
    let mut story = middle();
    let at_work = |story: &FleetScenario, mark| story.board.items().iter().filter(|(_, _, of)| *of == mark).count();
    assert_eq!(at_work(&story, TodoMark::AtWork), 2);
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
    story.then(1, 3, ask("a", "c"));
    // An agent that works for the parser's worker.
    story.then(1, 7, ask("b", "d"));
    assert_eq!((at_work(&story, TodoMark::AtWork), at_work(&story, TodoMark::NeedsYou)), (0, 2));
    let drawn = story.drawn(LARGE);
    assert!(drawn.contains("2 need you") && drawn.contains("? docs") && drawn.contains("? parser"), "{drawn}");
    assert!(drawn.contains("needs you (1): shell make[2J") && drawn.contains("needs you (2)"), "{drawn}");
    let decision = AskDecision::Deny { message: String::new() };
    let (ask, by) = (AskId("a".into()), DecidedBy::User);
    story.then(1, 3, Event::AskDecided { ask, call: CallId("c".into()), decision, by });
    let answer = ToolResult { status: ToolResultStatus::Cancelled, text: String::new() };
    story.then(1, 7, Event::CallAnswered { call: CallId("d".into()), answer, evidence: Vec::new() });
    assert_eq!((at_work(&story, TodoMark::AtWork), at_work(&story, TodoMark::NeedsYou)), (2, 0));
}

/// A row of the table as every view reads it.
fn row(id: &str, status: TodoStatus, interrupted: bool) -> TodoView {
    let todo = todo(id, &format!("Do {id}"), &[]);
    TodoView {
        id: todo.id,
        title: todo.title,
        description: None,
        status,
        ready: status == TodoStatus::Pending,
        interrupted,
        depends_on: Vec::new(),
        reason: None,
        agent_type: None,
        model: None,
        files: Vec::new(),
        check: None,
        expects: None,
        task: None,
        attempts: 1,
    }
}

/// A10: the live view matches the table, and its clocks are stopped.
#[test]
fn a_fleet_whose_process_was_killed_is_interrupted_and_its_clock_stands_still() {
    let mut story = FleetScenario::default();
    story.plan(["a", "b", "c"].map(|id| todo(id, &format!("Do {id}"), &[])).to_vec());
    story.then(0, 1, Event::FleetBegan(terms("all")));
    story.claim(2, "c");
    story.then(10, 2, Event::TodoDone { todo: "c".into(), fence: Some(1), reused: None });
    story.claim(3, "a");
    story.claim(4, "b");
    story.calls(3, "shell", "{}", 900);
    let rows = vec![row("a", TodoStatus::Done, false), row("b", TodoStatus::InProgress, true)];
    story.board.apply_todo_rows([rows, vec![row("c", TodoStatus::Done, false)]].concat(), true);
    assert!(story.board.is_interrupted() && !story.board.is_working());
    story.now += 1_000_000;
    let drawn = story.drawn(SMALL);
    insta::assert_snapshot!(drawn);
    assert!(!drawn.contains("at work") && !drawn.contains("left"), "{drawn}");
    // Resumed: the gap does not count as working time.
    let terms = serde_json::json!({"cwd": "/", "model": "m", "permission": "default", "version": "1"});
    let terms = serde_json::from_value(terms).unwrap();
    story.then(0, 1, Event::SessionAdopted { fence: protocol::Fence(2), config: terms });
    assert!(story.board.is_working());
    assert_eq!(story.board.elapsed(Timestamp(story.now)).as_secs(), 11);
}

/// A20: possible conflicts are shown before any worker starts.
#[test]
fn todos_that_name_the_same_file_and_do_not_wait_for_each_other_are_told_before_they_run() {
    let named = |id: &str, on: &[&str]| Todo { files: vec!["src/x.rs".into()], ..todo(id, "Do it", on) };
    let words = "may conflict: a and b both name src/x.rs, and neither waits for the other";
    let mut story = FleetScenario::default();
    story.plan(vec![named("a", &[]), named("b", &[]), named("c", &["a", "b"])]);
    story.then(0, 1, Event::FleetBegan(terms("all")));
    assert!(story.drawn(LARGE).contains(words), "{}", story.drawn(LARGE));
    assert_eq!(story.lines.iter().filter(|line| *line == words).count(), 1, "{:?}", story.lines);
    // Once one of them is done, the other begins with it.
    story.claim(2, "a");
    story.then(1, 2, Event::TodoDone { todo: "a".into(), fence: Some(1), reused: None });
    assert!(!story.drawn(LARGE).contains("may conflict"), "{}", story.drawn(LARGE));
    // The plan changes.
    let by = Principal::User;
    let apart = Event::TodosChanged { by, changed: vec![named("d", &[])], gone: Vec::new(), upto: 0 };
    story.then(0, 1, apart);
    assert!(story.lines.last().unwrap().contains("b, c, d name src/x.rs, and do not all"), "{:?}", story.lines);
}

/// B11: todos that the user added while no process ran are in no log.
#[test]
fn todos_without_a_fleet_are_counted_from_their_rows() {
    let mut story = FleetScenario::default();
    story.board.apply_todo_rows(vec![row("a", TodoStatus::Done, false), row("b", TodoStatus::Pending, false)], true);
    assert_eq!(story.board.done_and_total(), (1, 2));
    assert!(story.drawn(SMALL).contains("1/2 done"), "{}", story.drawn(SMALL));
}

#[test]
fn a_fleet_that_begins_again_keeps_its_todos_and_counts_anew() {
    let mut story = middle();
    story.then(1, 1, Event::FleetEnded { end: FleetEnd::Stopped });
    story.then(100, 1, Event::FleetBegan(terms("again")));
    assert!(story.board.is_working() && story.board.end().is_none());
    assert_eq!(story.board.workers().len(), 0);
    assert_eq!(story.board.items().len(), 8);
    assert!(story.drawn(SMALL).starts_with("Fleet  again "), "{}", story.drawn(SMALL));
    let at_work = story.board.items().iter().filter(|(_, _, mark)| *mark == crate::todos::TodoMark::AtWork).count();
    assert_eq!(at_work, 0, "nobody works on what was broken off");
}
