//! Measures how long the kernel takes for a todo of a fleet, by the number of todos.
//!
//! The todos are in layers of random width. Each depends on up to three todos of the layer before, the last one on all
//! others. 64 workers run at once, and each does its todo in one turn.
//!
//! Run it with `cargo run --release -p bosun-kernel --example fleet_speed`.

#![expect(clippy::print_stdout, clippy::expect_used, reason = "a measurement prints, and fails by panicking")]

use std::collections::VecDeque;
use std::time::Duration;

use bosun_kernel::{
    BoundaryPoint, Kernel, KernelEffect, KernelInput, NewMail, RunEnding, RunUpdate, SessionLimits, TaskSpawn,
};
use protocol::*;

/// How many workers run at once.
const MAX_WORKERS: u32 = 64;

/// Todos per row of the table, in one large plan or in many small ones.
const TODOS_PER_ROW: u32 = 10_000;

fn main() {
    println!("| todos | inputs per todo | µs of CPU per todo to decide | to apply events |");
    println!("|---:|---:|---:|---:|");
    for todos in [100, 1_000, 10_000] {
        let (mut inputs, mut deciding, mut applying) = (0, Duration::ZERO, Duration::ZERO);
        for _ in 0..TODOS_PER_ROW / todos {
            let plan = plan(todos);
            let before = cpu_time();
            let mut bench = Bench::open(todos);
            bench.begin(plan);
            while let Some(run) = bench.running.pop_front() {
                bench.work(run);
                bench.dispatch();
            }
            let decided = cpu_time();
            let rebuilt = bench.rebuild(todos);
            applying += cpu_time() - decided;
            deciding += decided - before;
            assert_eq!([done_todos(&bench.kernel), done_todos(&rebuilt)], [todos as usize; 2], "a todo was not done");
            inputs += bench.inputs;
        }
        let todo_count = f64::from(TODOS_PER_ROW);
        let micros = |time: Duration| time.as_secs_f64() * 1e6 / todo_count;
        println!(
            "| {todos} | {:.1} | {:.1} | {:.1} |",
            f64::from(inputs) / todo_count,
            micros(deciding),
            micros(applying)
        );
    }
}

/// The CPU time that this thread has used.
fn cpu_time() -> Duration {
    let stats = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux reports a thread's CPU time");
    let nanos = stats.split_whitespace().next().and_then(|word| word.parse().ok());
    Duration::from_nanos(nanos.expect("the first word is nanoseconds"))
}

fn done_todos(kernel: &Kernel) -> usize {
    kernel.graph().nodes().filter(|(_, node)| node.progress.status() == TodoStatus::Done).count()
}

fn limits(todos: u32) -> SessionLimits {
    SessionLimits { live: MAX_WORKERS, total: todos, ..SessionLimits::default() }
}

/// Todos in layers, the same every time.
fn plan(count: u32) -> Vec<Todo> {
    let mut rng = Dice(7);
    let (mut previous_layer, mut layer): (Vec<TodoId>, Vec<TodoId>) = (Vec::new(), Vec::new());
    let mut width = 1 + rng.roll(200);
    let mut todos = Vec::new();
    for n in 0..count {
        if layer.len() >= width {
            previous_layer = std::mem::take(&mut layer);
            width = 1 + rng.roll(200);
        }
        let mut todo = Todo::new(format!("todo-{n}"), "Do it");
        if !previous_layer.is_empty() {
            todo.depends_on =
                (0..=rng.roll(3)).map(|_| previous_layer[rng.roll(previous_layer.len())].clone()).collect();
        }
        layer.push(todo.id.clone());
        todos.push(todo);
    }
    let all: Vec<TodoId> = todos.iter().map(|todo| todo.id.clone()).collect();
    if let (Some(last), Some((_, others))) = (todos.last_mut(), all.split_last()) {
        last.depends_on = others.to_vec();
    }
    todos
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

struct Bench {
    kernel: Kernel,
    log: Vec<LogEntry>,
    inputs: u32,
    started: u32,
    /// Runs that were started and have not worked yet.
    running: VecDeque<RunId>,
}

impl Bench {
    fn open(todos: u32) -> Bench {
        let kernel = Kernel::new(limits(todos));
        let mut bench = Bench { kernel, log: Vec::new(), inputs: 0, started: 0, running: VecDeque::new() };
        let spec = TaskSpec { on_complete: CompletionPolicy::Idle, ..TaskSpec::new(TaskType::Main, "main", "root") };
        bench.apply(KernelInput::Open { root: id(1), spec, definition: None, config: session_config() });
        let body = MailBody::text("go");
        bench.apply(KernelInput::Send(NewMail {
            to: id(1),
            from: Principal::User,
            delivery: MailDelivery::Steer,
            body,
        }));
        let root = bench.running.pop_front().expect("the root runs");
        bench.work(root);
        bench
    }

    /// Applies the recorded events to a second kernel, as a session's owner does after each commit.
    fn rebuild(&self, todos: u32) -> Kernel {
        let mut kernel = Kernel::new(limits(todos));
        self.log.iter().for_each(|entry| kernel.apply_event(entry).expect("recorded events are valid"));
        kernel
    }

    fn begin(&mut self, todos: Vec<Todo>) {
        self.apply(KernelInput::TodosChanged { by: Principal::User, changed: todos, gone: Vec::new(), upto: 0 });
        self.apply(KernelInput::BeginFleet(FleetConfig {
            agent: None,
            goal: "go".into(),
            parallel: None,
            retries: 1,
            rounds: 0,
            isolated: false,
            dirty: false,
            merge: false,
            check: None,
            plan: None,
        }));
        self.dispatch();
    }

    /// Starts a worker for every due todo.
    fn dispatch(&mut self) {
        let due = self.kernel.due_todos("worker");
        for todo in due {
            self.started += 1;
            let id = id(u128::from(self.started) + 1);
            let base = TaskSpec::new(TaskType::Agent, "worker", todo.0.clone());
            let spec = TaskSpec { todo: Some(todo), on_complete: CompletionPolicy::Finish, ..base };
            let spawn =
                TaskSpawn { id, spec, prompt: "go".into(), by: None, until: None, definition: None, redo_reason: None };
            self.apply(KernelInput::Spawn(spawn));
        }
    }

    /// Reports one turn of a run, and its end.
    fn work(&mut self, run: RunId) {
        self.report(run, RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
        let quote = TurnQuote {
            input: 0,
            estimated: 0,
            min_output: 0,
            expected_output: 0,
            max_output: 0,
            price: None,
            last_turn_reserve: Cost::ZERO,
        };
        self.report(run, RunUpdate::TurnBegun { model: "m".into(), quote });
        let turn = self.kernel.task(run.task).expect("it exists").turn;
        let content = vec![ContentBlock::Text { text: "so".into() }];
        let (stop, usage, cost, model) = (StopReason::End, Usage::default(), Cost::ZERO, "m".into());
        self.report(run, RunUpdate::TurnAnswered { turn, content, stop, usage, cost, model });
        self.report(run, RunUpdate::Ended { ending: RunEnding::Completed, text: "done".into() });
    }

    fn report(&mut self, run: RunId, report: RunUpdate) {
        self.apply(KernelInput::Report(run, report));
    }

    fn apply(&mut self, input: KernelInput) {
        self.inputs += 1;
        for effect in self.kernel.decide(Timestamp(1), input).expect("nothing here is refused") {
            match effect {
                KernelEffect::Record(entry) => self.log.push(entry),
                KernelEffect::Start(run) => self.running.push_back(run),
                _other => {}
            }
        }
    }
}

fn id(n: u128) -> TaskId {
    TaskId::new(uuid::Uuid::from_u128(n))
}

fn session_config() -> SessionConfig {
    SessionConfig {
        cwd: "/w".into(),
        model: "m".into(),
        permission: PermissionMode::Default,
        rules: Vec::new(),
        roots: Vec::new(),
        ask_user: false,
        max_turns: None,
        root_turns: None,
        limits: protocol::AgentLimits::default(),
        budget: Budget::default(),
        effort: None,
        list: protocol::ListName::Session,
        version: "0".into(),
    }
}
