//! Fleets: claims, results, retries and blocked todos.

use bosun_kernel::*;
use protocol::*;

use crate::fixture::{KernelFixture, id};

fn fleet(retries: u32) -> FleetConfig {
    FleetConfig {
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

fn change(by: Principal, changed: Vec<Todo>) -> KernelInput {
    KernelInput::TodosChanged { by, changed, gone: Vec::new(), upto: 0 }
}

/// A kernel whose fleet works on these todos, two at once.
fn kernel(retries: u32, todos: Vec<Todo>) -> KernelFixture {
    let limits = SessionLimits { live: 2, depth: 2, total: 99, ..SessionLimits::default() };
    let mut kernel = KernelFixture::with(limits, |_| {});
    kernel.ok(change(Principal::User, todos));
    kernel.ok(KernelInput::BeginFleet(fleet(retries)));
    kernel
}

impl KernelFixture {
    fn due(&self) -> Vec<String> {
        self.kernel.due_todos("task").into_iter().map(|todo| todo.0).collect()
    }

    fn claim(&mut self, n: u128, todo: &str) -> RunId {
        self.spawn(n, |spec| spec.todo = Some(todo.into()));
        self.run(n)
    }

    fn status(&self, todo: &str) -> String {
        match &self.kernel.graph().node(&todo.into()).unwrap().progress {
            TodoProgress::Blocked(why) => format!("blocked: {why}"),
            progress => progress.status().as_str().to_owned(),
        }
    }

    fn fails(&mut self, run: RunId, message: &str) {
        let ending = RunEnding::Failed { kind: FailKind::Contract, message: message.into() };
        self.report(run, RunUpdate::Boundary(BoundaryPoint::End));
        self.report(run, RunUpdate::Ended { ending, text: String::new() });
    }
}

#[test]
fn ready_todos_are_due_in_their_order_and_their_dependents_come_later() {
    let mut kernel =
        kernel(0, vec![todo("ship", &["lex", "parse"]), todo("parse", &[]), todo("lex", &[]), todo("doc", &[])]);
    assert_eq!(kernel.due(), ["parse", "lex"], "two slots");
    let (parse, lex) = (kernel.claim(2, "parse"), kernel.claim(3, "lex"));
    assert!(kernel.due().is_empty());
    let done = kernel.complete(parse);
    assert!(done.contains(&"2 todoDone".to_owned()), "{done:?}");
    assert!(
        !done.iter().any(|effect| effect.contains("mailAdmitted")),
        "the root gets no mail for each todo: {done:?}"
    );
    assert_eq!(kernel.due(), ["doc"]);
    kernel.complete(lex);
    assert_eq!(kernel.due(), ["ship", "doc"]);
}

#[test]
fn a_todo_is_claimed_with_the_spawn_and_a_second_claim_is_refused() {
    let mut kernel = kernel(0, vec![todo("a", &[]), todo("b", &["a"])]);
    let spawned = kernel.spawn(2, |spec| spec.todo = Some("a".into()));
    assert_eq!(spawned[..2], ["2 taskCreated", "2 todoClaimed"]);
    let another = |todo: &str| {
        let spec = TaskSpec { todo: Some(todo.into()), ..crate::fixture::spec(TaskType::Agent, Some(id(1))) };
        KernelInput::Spawn(TaskSpawn {
            id: id(9),
            spec,
            prompt: "go".into(),
            by: None,
            until: None,
            definition: None,
            redo_reason: None,
        })
    };
    assert_eq!(kernel.refused(another("a")), format!("the todo `a` is claimed by {}", id(2)));
    assert_eq!(kernel.refused(another("b")), "the todo `b` cannot be worked on now");
    assert_eq!(kernel.refused(another("c")), "there is no todo `c`");
    kernel.ok(KernelInput::EndFleet { end: FleetEnd::Stopped, why: None });
    assert_eq!(kernel.refused(another("a")), "no fleet is working on the todos of this session");
    assert_eq!((kernel.status("a"), kernel.state(2)), ("pending".into(), "cancelled"));
}

#[test]
fn a_failed_todo_is_retried_and_then_blocks_its_dependents() {
    let mut kernel = kernel(1, vec![todo("a", &[]), todo("b", &["a"]), todo("c", &["b"])]);
    let first = kernel.claim(2, "a");
    kernel.fails(first, "tests fail");
    assert_eq!((kernel.status("a"), kernel.due()), ("pending".into(), vec!["a".to_owned()]));
    let second = kernel.claim(3, "a");
    kernel.fails(second, "tests still fail");
    let blocked = ["a", "b", "c"].map(|todo| kernel.status(todo));
    let upstream = |todo: &str| format!("blocked: it depends on {todo}, which is blocked");
    assert_eq!(blocked, ["blocked: tests still fail".into(), upstream("a"), upstream("b")]);
    // The root sets the first todo to pending again.
    kernel.ok(change(Principal::Task { id: id(1) }, vec![todo("a", &[])]));
    assert_eq!(["a", "b", "c"].map(|todo| kernel.status(todo)), ["pending", "pending", "pending"]);
    assert_eq!(kernel.due(), ["a"]);
}

#[test]
fn a_worker_cannot_set_the_status_of_a_todo() {
    let mut kernel = kernel(0, vec![todo("a", &[]), todo("b", &[])]);
    let worker = kernel.claim(2, "a");
    let done = |id: &str| Todo { status: TodoStatus::Done, ..todo(id, &[]) };
    let effects = kernel
        .kernel
        .decide(Timestamp(200), change(Principal::Task { id: id(2) }, vec![done("a"), done("b")]))
        .unwrap();
    let KernelEffect::Record(LogEntry { event: Event::TodosChanged { changed, .. }, .. }) = &effects[0] else {
        panic!("{effects:?}")
    };
    assert_eq!(changed[0].status, TodoStatus::InProgress, "the row is corrected");
    assert_eq!((kernel.status("a"), kernel.status("b")), ("in_progress".into(), "pending".into()));
    kernel.fails(worker, "the check fails");
    assert_eq!(kernel.status("a"), "blocked: the check fails");
}

#[test]
fn reports_from_an_older_attempt_are_refused() {
    let mut kernel = kernel(3, vec![todo("a", &[])]);
    let old = kernel.claim(2, "a");
    kernel.ok(KernelInput::Lease { run: old, until: Timestamp(150) });
    kernel.now = Timestamp(200);
    kernel.ok(KernelInput::Tick);
    let new = kernel.run(2);
    assert_eq!((new.attempt, kernel.status("a")), (Attempt(2), "in_progress".into()));
    assert_eq!(
        kernel.refused(KernelInput::Report(old, RunUpdate::Boundary(BoundaryPoint::End))),
        "this run of the task is over"
    );
    kernel.complete(new);
    assert_eq!(kernel.status("a"), "done");
}

#[test]
fn a_cycle_prevents_a_fleet_and_blocks_todos_while_one_runs() {
    let mut kernel = KernelFixture::new();
    kernel
        .ok(change(Principal::User, vec![todo("a", &["b"]), todo("b", &["c"]), todo("c", &["a"]), todo("d", &["c"])]));
    let refusal = kernel.refused(KernelInput::BeginFleet(fleet(0)));
    assert_eq!(refusal, "the todos depend on each other in a cycle: a → b → c → a");
    kernel.ok(change(Principal::User, vec![todo("c", &[])]));
    kernel.ok(KernelInput::BeginFleet(fleet(0)));
    kernel.ok(change(Principal::Task { id: id(1) }, vec![todo("c", &["a"])]));
    assert_eq!(kernel.status("c"), "blocked: it depends on itself: c → a → b → c");
    assert_eq!(kernel.status("d"), "blocked: it depends on c, which is blocked");
    kernel.ok(change(Principal::Task { id: id(1) }, vec![Todo { status: TodoStatus::Blocked, ..todo("c", &[]) }]));
    assert_eq!(["a", "b", "c", "d"].map(|todo| kernel.status(todo)), ["pending"; 4]);
}

#[test]
fn removing_a_todo_stops_its_worker() {
    let mut kernel = kernel(0, vec![todo("a", &[]), todo("b", &["a"])]);
    kernel.claim(2, "a");
    let by = Principal::Task { id: id(1) };
    kernel.ok(KernelInput::TodosChanged { by, changed: vec![todo("b", &[])], gone: vec!["a".into()], upto: 0 });
    assert_eq!((kernel.state(2), kernel.due()), ("cancelled", vec!["b".to_owned()]));
}

#[test]
fn each_of_a_thousand_todos_is_done_once_while_workers_fail_and_owners_die() {
    const TODOS: usize = 1_000;
    let limits = SessionLimits { live: 64, depth: 2, total: 9_999, ..SessionLimits::default() };
    let mut kernel = KernelFixture::with(limits.clone(), |_| {});
    let name = |n: usize| format!("t{n}");
    let dependencies = |n: usize| if n < 40 { Vec::new() } else { vec![name(n - 40), name(n / 2)] };
    let row = |n| todo(&name(n), &dependencies(n).iter().map(String::as_str).collect::<Vec<_>>());
    kernel.ok(change(Principal::User, (0..TODOS).map(row).collect()));
    kernel.ok(KernelInput::BeginFleet(fleet(9)));
    let (mut next, mut seed, mut done) = (2_u128, 1_u64, Vec::new());
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut working: Vec<u128> = Vec::new();
    while done.len() < TODOS {
        for todo in kernel.kernel.due_todos("task") {
            kernel.claim(next, &todo.0);
            working.push(next);
            next += 1;
        }
        assert!(working.len() <= 64);
        if random(40) == 0 {
            // The owner dies, and the next one resumes the interrupted tasks.
            kernel.ok(KernelInput::Adopt { fence: Fence(next as u64), config: crate::fixture::session_config() });
            kernel.ok(KernelInput::Resume);
        }
        let worker = working.swap_remove(random(working.len() as u64) as usize);
        let run = kernel.run(worker);
        match random(5) {
            0 => kernel.fails(run, "it died"),
            _ => {
                done.push(kernel.task(worker).todo.clone().unwrap());
                kernel.complete(run);
            }
        }
    }
    done.sort();
    done.dedup();
    assert_eq!(done.len(), TODOS, "each of them once");
    assert!(kernel.kernel.graph().nodes().all(|(_, node)| node.progress == TodoProgress::Done));
    assert_eq!(kernel.kernel.graph().claimed(), 0);
}

#[test]
fn a_fork_has_no_running_fleet() {
    let mut kernel = kernel(0, vec![todo("a", &[]), todo("b", &[])]);
    kernel.claim(2, "a");
    let forked = kernel.ok(KernelInput::Fork { from: SessionId::new(uuid::Uuid::nil()) });
    assert_eq!(forked[..2], ["1 sessionForked", "1 fleetEnded"]);
    assert_eq!(
        (kernel.kernel.graph().fleet(), kernel.status("a"), kernel.state(2)),
        (None, "pending".into(), "cancelled")
    );
    kernel.ok(KernelInput::Adopt { fence: Fence(2), config: crate::fixture::session_config() });
    kernel.ok(KernelInput::BeginFleet(fleet(0)));
    assert_eq!(kernel.due(), ["a", "b"]);
}
