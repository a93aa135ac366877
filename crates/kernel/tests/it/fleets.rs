//! A fleet works through the todos.

use bosun_kernel::*;
use protocol::*;

use crate::desk::{Desk, id};

fn fleet(retries: u32) -> FleetTerms {
    FleetTerms {
        agent: None,
        goal: "all of it".into(),
        parallel: None,
        retries,
        rounds: 0,
        isolated: false,
        dirty: false,
        merge: false,
        check: None,
        plan: None,
    }
}

fn todo(id: &str, depends_on: &[&str]) -> Todo {
    Todo { depends_on: depends_on.iter().map(|id| TodoId::from(*id)).collect(), ..Todo::new(id, "work") }
}

fn change(by: Origin, changed: Vec<Todo>) -> Input {
    Input::Todos { by, changed, gone: Vec::new(), upto: 0 }
}

/// A desk whose fleet works on these todos, two at once.
fn desk(retries: u32, todos: Vec<Todo>) -> Desk {
    let limits = Limits { live: 2, depth: 2, total: 99, ..Limits::default() };
    let mut desk = Desk::with(limits, |_| {});
    desk.ok(change(Origin::User, todos));
    desk.ok(Input::BeginFleet(fleet(retries)));
    desk
}

impl Desk {
    fn due(&self) -> Vec<String> {
        self.kernel.due("task").into_iter().map(|todo| todo.0).collect()
    }

    fn claim(&mut self, n: u128, todo: &str) -> Run {
        self.spawn(n, |spec| spec.todo = Some(todo.into()));
        self.run(n)
    }

    fn status(&self, todo: &str) -> String {
        match &self.kernel.graph().node(&todo.into()).unwrap().standing {
            Standing::Blocked(why) => format!("blocked: {why}"),
            standing => standing.status().word().to_owned(),
        }
    }

    fn fails(&mut self, run: Run, message: &str) {
        let ending = Ending::Failed { kind: FailKind::Contract, message: message.into() };
        self.report(run, Report::Boundary(Point::End));
        self.report(run, Report::Ended { ending, text: String::new() });
    }
}

#[test]
fn f4_what_is_ready_is_due_in_its_order_and_what_depends_on_it_comes_after() {
    let mut desk =
        desk(0, vec![todo("ship", &["lex", "parse"]), todo("parse", &[]), todo("lex", &[]), todo("doc", &[])]);
    assert_eq!(desk.due(), ["parse", "lex"], "two slots");
    let (parse, lex) = (desk.claim(2, "parse"), desk.claim(3, "lex"));
    assert!(desk.due().is_empty());
    let done = desk.completes(parse);
    assert!(done.contains(&"2 todoDone".to_owned()), "{done:?}");
    assert!(!done.iter().any(|effect| effect.contains("mailAdmitted")), "the root is not told of each: {done:?}");
    assert_eq!(desk.due(), ["doc"]);
    desk.completes(lex);
    assert_eq!(desk.due(), ["ship", "doc"]);
}

#[test]
fn f4_a_claim_is_part_of_the_spawn_and_a_second_one_is_refused() {
    let mut desk = desk(0, vec![todo("a", &[]), todo("b", &["a"])]);
    let spawned = desk.spawn(2, |spec| spec.todo = Some("a".into()));
    assert_eq!(spawned[..2], ["2 taskCreated", "2 todoClaimed"]);
    let another = |todo: &str| {
        let spec = TaskSpec { todo: Some(todo.into()), ..crate::desk::spec(Kind::Agent, Some(id(1))) };
        Input::Spawn(Spawn { id: id(9), spec, prompt: "go".into(), by: None, until: None, definition: None })
    };
    assert_eq!(desk.refused(another("a")), format!("the todo `a` is held by {}", id(2)));
    assert_eq!(desk.refused(another("b")), "the todo `b` cannot be worked on now");
    assert_eq!(desk.refused(another("c")), "there is no todo `c`");
    desk.ok(Input::EndFleet(FleetEnd::Stopped));
    assert_eq!(desk.refused(another("a")), "no fleet is at work on the todos of this session");
    assert_eq!((desk.status("a"), desk.state(2)), ("pending".into(), "cancelled"));
}

#[test]
fn f4_a_failure_is_tried_again_and_then_blocks_what_depends_on_it() {
    let mut desk = desk(1, vec![todo("a", &[]), todo("b", &["a"]), todo("c", &["b"])]);
    let first = desk.claim(2, "a");
    desk.fails(first, "tests fail");
    assert_eq!((desk.status("a"), desk.due()), ("pending".into(), vec!["a".to_owned()]));
    let second = desk.claim(3, "a");
    desk.fails(second, "tests still fail");
    let blocked = ["a", "b", "c"].map(|todo| desk.status(todo));
    let upstream = |todo: &str| format!("blocked: it depends on {todo}, which is blocked");
    assert_eq!(blocked, ["blocked: tests still fail".into(), upstream("a"), upstream("b")]);
    // The root plans anew: it sets the first one to pending.
    desk.ok(change(Origin::Task { id: id(1) }, vec![todo("a", &[])]));
    assert_eq!(["a", "b", "c"].map(|todo| desk.status(todo)), ["pending", "pending", "pending"]);
    assert_eq!(desk.due(), ["a"]);
}

#[test]
fn f4_the_word_of_a_worker_about_its_todo_is_only_a_word() {
    let mut desk = desk(0, vec![todo("a", &[]), todo("b", &[])]);
    let worker = desk.claim(2, "a");
    let done = |id: &str| Todo { status: TodoStatus::Done, ..todo(id, &[]) };
    let said = desk.kernel.apply(At(200), change(Origin::Task { id: id(2) }, vec![done("a"), done("b")])).unwrap();
    let Effect::Record(Entry { event: Event::TodosChanged { changed, .. }, .. }) = &said[0] else { panic!("{said:?}") };
    assert_eq!(changed[0].status, TodoStatus::InProgress, "the row is put right");
    assert_eq!((desk.status("a"), desk.status("b")), ("in_progress".into(), "pending".into()));
    desk.fails(worker, "the check fails");
    assert_eq!(desk.status("a"), "blocked: the check fails");
}

#[test]
fn f4_q31_a_worker_of_an_older_claim_changes_nothing() {
    let mut desk = desk(3, vec![todo("a", &[])]);
    let old = desk.claim(2, "a");
    desk.ok(Input::Lease { run: old, until: At(150) });
    desk.now = At(200);
    desk.ok(Input::Tick);
    let new = desk.run(2);
    assert_eq!((new.attempt, desk.status("a")), (Attempt(2), "in_progress".into()));
    assert_eq!(desk.refused(Input::Report(old, Report::Boundary(Point::End))), "this run of the task is over");
    desk.completes(new);
    assert_eq!(desk.status("a"), "done");
}

#[test]
fn f4_circles_are_refused_at_the_beginning_and_named_when_a_plan_is_edited_into_one() {
    let mut desk = Desk::new();
    desk.ok(change(Origin::User, vec![todo("a", &["b"]), todo("b", &["c"]), todo("c", &["a"]), todo("d", &["c"])]));
    let circle = desk.refused(Input::BeginFleet(fleet(0)));
    assert_eq!(circle, "the todos depend on each other in a circle: a → b → c → a");
    desk.ok(change(Origin::User, vec![todo("c", &[])]));
    desk.ok(Input::BeginFleet(fleet(0)));
    desk.ok(change(Origin::Task { id: id(1) }, vec![todo("c", &["a"])]));
    assert_eq!(desk.status("c"), "blocked: it depends on itself: c → a → b → c");
    assert_eq!(desk.status("d"), "blocked: it depends on c, which is blocked");
    desk.ok(change(Origin::Task { id: id(1) }, vec![Todo { status: TodoStatus::Blocked, ..todo("c", &[]) }]));
    assert_eq!(["a", "b", "c", "d"].map(|todo| desk.status(todo)), ["pending"; 4]);
}

#[test]
fn f4_a_todo_that_is_taken_away_takes_its_worker_with_it() {
    let mut desk = desk(0, vec![todo("a", &[]), todo("b", &["a"])]);
    desk.claim(2, "a");
    let by = Origin::Task { id: id(1) };
    desk.ok(Input::Todos { by, changed: vec![todo("b", &[])], gone: vec!["a".into()], upto: 0 });
    assert_eq!((desk.state(2), desk.due()), ("cancelled", vec!["b".to_owned()]));
}

#[test]
fn f4_sixty_four_workers_do_a_thousand_todos_once_each_while_workers_and_owners_die() {
    const TODOS: usize = 1_000;
    let limits = Limits { live: 64, depth: 2, total: 9_999, ..Limits::default() };
    let mut desk = Desk::with(limits.clone(), |_| {});
    let name = |n: usize| format!("t{n}");
    let above = |n: usize| if n < 40 { Vec::new() } else { vec![name(n - 40), name(n / 2)] };
    let row = |n| todo(&name(n), &above(n).iter().map(String::as_str).collect::<Vec<_>>());
    desk.ok(change(Origin::User, (0..TODOS).map(row).collect()));
    desk.ok(Input::BeginFleet(fleet(9)));
    let (mut next, mut chance, mut done) = (2_u128, 1_u64, Vec::new());
    let mut random = |below: u64| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (chance >> 33) % below
    };
    let mut working: Vec<u128> = Vec::new();
    while done.len() < TODOS {
        for todo in desk.kernel.due("task") {
            desk.claim(next, &todo.0);
            working.push(next);
            next += 1;
        }
        assert!(working.len() <= 64);
        if random(40) == 0 {
            // The owner dies: the next one lets what was interrupted go on.
            desk.ok(Input::Adopt { fence: Fence(next as u64), terms: crate::desk::terms() });
            desk.ok(Input::Resume);
        }
        let worker = working.swap_remove(random(working.len() as u64) as usize);
        let run = desk.run(worker);
        match random(5) {
            0 => desk.fails(run, "it died"),
            _ => {
                done.push(desk.task(worker).todo.clone().unwrap());
                desk.completes(run);
            }
        }
    }
    done.sort();
    done.dedup();
    assert_eq!(done.len(), TODOS, "each of them once");
    assert!(desk.kernel.graph().nodes().all(|(_, node)| node.standing == Standing::Done));
    assert_eq!(desk.kernel.graph().claimed(), 0);
}

#[test]
fn f4_a_copy_of_a_session_has_no_fleet_at_work() {
    let mut desk = desk(0, vec![todo("a", &[]), todo("b", &[])]);
    desk.claim(2, "a");
    let forked = desk.ok(Input::Fork { from: SessionId::new(uuid::Uuid::nil()) });
    assert_eq!(forked[..2], ["1 sessionForked", "1 fleetEnded"]);
    assert_eq!((desk.kernel.graph().fleet(), desk.status("a"), desk.state(2)), (None, "pending".into(), "cancelled"));
    desk.ok(Input::Adopt { fence: Fence(2), terms: crate::desk::terms() });
    desk.ok(Input::BeginFleet(fleet(0)));
    assert_eq!(desk.due(), ["a", "b"]);
}
