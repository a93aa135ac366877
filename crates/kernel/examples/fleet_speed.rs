//! How long the kernel takes for a todo of a fleet, by the number of todos.
//!
//! The todos stand in layers of random width, each waits for up to three of the layer before, the last for all, and 64
//! are worked on at once: told of, begun, asked for, claimed with their task, worked on for one turn, and done. `cargo run --release -p bosun-kernel --example fleet_speed`

#![expect(clippy::print_stdout, clippy::expect_used, reason = "a measurement prints, and fails by panicking")]

use std::collections::VecDeque;
use std::time::Duration;

use bosun_kernel::{
    BoundaryPoint, Kernel, KernelEffect, KernelInput, NewMail, RunEnding, RunUpdate, SessionLimits, TaskSpawn,
};
use protocol::*;

/// How many todos are worked on at once.
const LIVE: u32 = 64;

/// Todos of each row: the same work, as one large plan or as many small ones.
const SUM: u32 = 10_000;

fn main() {
    println!("| todos | inputs a todo | µs of CPU a todo to decide | to fold |");
    println!("|---:|---:|---:|---:|");
    for todos in [100, 1_000, 10_000] {
        let (mut inputs, mut deciding, mut folding) = (0, Duration::ZERO, Duration::ZERO);
        for _ in 0..SUM / todos {
            let plan = plan(todos);
            let before = cpu();
            let mut bench = Bench::open(todos);
            bench.begin(plan);
            while let Some(run) = bench.running.pop_front() {
                bench.work(run);
                bench.dispatch();
            }
            let between = cpu();
            let folded = bench.fold(todos);
            folding += cpu() - between;
            deciding += between - before;
            assert_eq!([done(&bench.kernel), done(&folded)], [todos as usize; 2], "a todo was not done");
            inputs += bench.inputs;
        }
        let each = f64::from(SUM);
        let micros = |time: Duration| time.as_secs_f64() * 1e6 / each;
        println!("| {todos} | {:.1} | {:.1} | {:.1} |", f64::from(inputs) / each, micros(deciding), micros(folding));
    }
}

/// The CPU that this thread has used.
fn cpu() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells what a thread used");
    let nanos = told.split_whitespace().next().and_then(|word| word.parse().ok());
    Duration::from_nanos(nanos.expect("the first word is nanoseconds"))
}

fn done(kernel: &Kernel) -> usize {
    kernel.graph().nodes().filter(|(_, node)| node.progress.status() == TodoStatus::Done).count()
}

fn limits(todos: u32) -> SessionLimits {
    SessionLimits { live: LIVE + 1, total: todos, ..SessionLimits::default() }
}

/// Todos in layers, the same every time.
fn plan(count: u32) -> Vec<Todo> {
    let mut dice = Dice(7);
    let (mut before, mut layer): (Vec<TodoId>, Vec<TodoId>) = (Vec::new(), Vec::new());
    let mut width = 1 + dice.roll(200);
    let mut todos = Vec::new();
    for n in 0..count {
        if layer.len() >= width {
            before = std::mem::take(&mut layer);
            width = 1 + dice.roll(200);
        }
        let mut todo = Todo::new(format!("todo-{n}"), "Do it");
        if !before.is_empty() {
            todo.depends_on = (0..=dice.roll(3)).map(|_| before[dice.roll(before.len())].clone()).collect();
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
        bench.give(KernelInput::Open { root: id(1), spec, definition: None, config: terms() });
        let body = MailBody::text("go");
        bench.give(KernelInput::Send(NewMail {
            to: id(1),
            from: Principal::User,
            delivery: MailDelivery::Steer,
            body,
        }));
        let root = bench.running.pop_front().expect("the root runs");
        bench.work(root);
        bench
    }

    /// A second kernel takes what this one recorded, as an owner's does.
    fn fold(&self, todos: u32) -> Kernel {
        let mut kernel = Kernel::new(limits(todos));
        self.log.iter().for_each(|entry| kernel.evolve(entry).expect("the log agrees with itself"));
        kernel
    }

    fn begin(&mut self, todos: Vec<Todo>) {
        self.give(KernelInput::TodosChanged { by: Principal::User, changed: todos, gone: Vec::new(), upto: 0 });
        self.give(KernelInput::BeginFleet(FleetConfig {
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

    /// Starts a worker for everything that is due.
    fn dispatch(&mut self) {
        let due = self.kernel.due_todos("worker");
        for todo in due {
            self.started += 1;
            let id = id(u128::from(self.started) + 1);
            let named = TaskSpec::new(TaskType::Agent, "worker", todo.0.clone());
            let spec = TaskSpec { todo: Some(todo), on_complete: CompletionPolicy::Finish, ..named };
            let spawn = TaskSpawn { id, spec, prompt: "go".into(), by: None, until: None, definition: None };
            self.give(KernelInput::Spawn(spawn));
        }
    }

    /// One turn of a run, and its end.
    fn work(&mut self, run: RunId) {
        self.report(run, RunUpdate::Boundary(BoundaryPoint::Between));
        let quote = TurnQuote {
            input: 0,
            estimated: 0,
            min_output: 0,
            expected: 0,
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
        self.give(KernelInput::Report(run, report));
    }

    fn give(&mut self, input: KernelInput) {
        self.inputs += 1;
        for effect in self.kernel.apply(Timestamp(1), input).expect("nothing here is refused") {
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

fn terms() -> SessionConfig {
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
