//! Measures how long the kernel takes for an input, by the number of agents that run at once.
//!
//! Every agent takes 4 turns with 3 tool calls each, all of them in step, and then ends. A second kernel applies the
//! events that the first records, as an owner does.
//!
//! Run it with `cargo run -p bosun-kernel --example speed`.

#![expect(clippy::print_stdout, clippy::expect_used, reason = "a measurement prints, and fails by panicking")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bosun_kernel::{
    BoundaryPoint, Kernel, KernelEffect, KernelInput, NewMail, RunEnding, RunUpdate, SessionLimits, TaskSpawn,
};
use protocol::*;

const TURNS: u32 = 4;
const CALLS: [&str; 3] = ["a", "b", "c"];

fn main() {
    println!("{:>28} {:>7} {:>9} {:>11} {:>11} {:>9}", "", "agents", "inputs", "µs decide", "µs fold", "seconds");
    for agents in [10, 100, 1_000, 4_000] {
        let limits = SessionLimits { live: agents, total: agents, ..SessionLimits::default() };
        measure("all live", limits.clone(), agents, RootBehavior::WorksOn);
        measure("all live, root waits", limits.clone(), agents, RootBehavior::WaitsInOneCall);
        measure("all live, a wait for each", limits.clone(), agents, RootBehavior::WaitsInManyCalls);
        let of_type = BTreeMap::from([("t0".to_owned(), 3), ("t1".to_owned(), 2)]);
        measure(
            "32 live, capped types",
            SessionLimits { live: 32, max_by_type: of_type, ..limits },
            agents,
            RootBehavior::WorksOn,
        );
    }
}

/// What the root does while its agents work.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RootBehavior {
    WorksOn,
    WaitsInOneCall,
    WaitsInManyCalls,
}

fn measure(label: &str, limits: SessionLimits, agents: u32, parent: RootBehavior) {
    let mut bench = Bench::open(limits);
    bench.start(agents, parent);
    while !bench.running.is_empty() {
        for run in std::mem::take(&mut bench.running) {
            bench.work(run);
        }
    }
    let micros = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(bench.inputs);
    let (decide, fold, seconds) = (micros(bench.deciding), micros(bench.folding), bench.deciding.as_secs_f64());
    println!("{label:>28} {agents:>7} {:>9} {decide:>11.2} {fold:>11.2} {seconds:>9.3}", bench.inputs);
}

struct Bench {
    kernel: Kernel,
    durable: Kernel,
    now: Timestamp,
    inputs: u32,
    deciding: Duration,
    folding: Duration,
    /// Runs that were started and have not worked yet.
    running: Vec<RunId>,
}

impl Bench {
    fn open(limits: SessionLimits) -> Bench {
        let mut bench = Bench {
            kernel: Kernel::new(limits.clone()),
            durable: Kernel::new(limits),
            now: Timestamp(1),
            inputs: 0,
            deciding: Duration::ZERO,
            folding: Duration::ZERO,
            running: Vec::new(),
        };
        let spec = TaskSpec { on_complete: CompletionPolicy::Idle, ..TaskSpec::new(TaskType::Main, "main", "root") };
        bench.apply(KernelInput::Open { root: id(1), spec, definition: None, config: session_config() });
        let body = MailBody::text("go");
        bench.apply(KernelInput::Send(NewMail {
            to: id(1),
            from: Principal::User,
            delivery: MailDelivery::Steer,
            body,
        }));
        bench
    }

    fn start(&mut self, agents: u32, parent: RootBehavior) {
        let root = self.running.pop().expect("the root runs");
        let calls = (0..agents).map(|n| format!("call-{n}"));
        let turn = self.answer(root, calls.chain(["wait".to_owned()]));
        let mode = if parent == RootBehavior::WaitsInManyCalls { TaskMode::Sync } else { TaskMode::Background };
        for n in 0..agents {
            let spec = TaskSpec { mode, ..TaskSpec::new(TaskType::Agent, format!("t{}", n % 5), "worker") };
            let by = Some((root, turn, CallId(format!("call-{n}"))));
            let id = id(u128::from(n) + 2);
            self.apply(KernelInput::Spawn(TaskSpawn {
                id,
                spec,
                prompt: "go".into(),
                by,
                until: None,
                definition: None,
                redo_reason: None,
            }));
        }
        if parent == RootBehavior::WaitsInOneCall {
            let call = CallId("wait".into());
            self.report(root, RunUpdate::CallStarted { turn, call: call.clone() });
            let on = (0..agents).map(|n| id(u128::from(n) + 2)).collect();
            self.report(root, RunUpdate::Wait { turn, call, on, mode: WaitMode::All, until: None });
        }
    }

    /// Reports one turn of a run, or its end.
    fn work(&mut self, run: RunId) {
        if self.kernel.task(run.task).is_none_or(|task| task.kind == TaskType::Main) {
            return;
        }
        self.report(run, RunUpdate::Boundary(BoundaryPoint::BetweenTurns));
        if self.kernel.task(run.task).is_some_and(|task| task.turns < TURNS) {
            let turn = self.answer(run, CALLS.map(str::to_owned).into_iter());
            for call in CALLS {
                self.report(run, RunUpdate::CallStarted { turn, call: CallId(call.into()) });
            }
            for call in CALLS {
                let answer = ToolResult { status: ToolResultStatus::Done, text: String::new() };
                self.report(
                    run,
                    RunUpdate::CallAnswered { turn, call: CallId(call.into()), answer, evidence: Vec::new() },
                );
            }
            self.running.push(run);
        } else {
            self.answer(run, std::iter::empty());
            self.report(run, RunUpdate::Ended { ending: RunEnding::Completed, text: "done".into() });
        }
    }

    /// Reports a model request and its answer, with these calls.
    fn answer(&mut self, run: RunId, calls: impl Iterator<Item = String>) -> Turn {
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
        let call = |id: String| {
            ContentBlock::Call(ToolCallRequest { id: CallId(id), tool: "shell".into(), input: "{}".into() })
        };
        let mut content: Vec<ContentBlock> = calls.map(call).collect();
        content.push(ContentBlock::Text { text: "so".into() });
        let (stop, usage, cost, model) = (StopReason::End, Usage::default(), Cost::ZERO, "m".into());
        self.report(run, RunUpdate::TurnAnswered { turn, content, stop, usage, cost, model });
        turn
    }

    fn report(&mut self, run: RunId, report: RunUpdate) {
        self.apply(KernelInput::Report(run, report));
    }

    fn apply(&mut self, input: KernelInput) {
        self.inputs += 1;
        let before = Instant::now();
        let effects = self.kernel.decide(self.now, input).expect("nothing here is refused");
        let between = Instant::now();
        for effect in &effects {
            if let KernelEffect::Record(entry) = effect {
                self.durable.apply_event(entry).expect("the log agrees with itself");
            }
        }
        self.folding += between.elapsed();
        self.deciding += between - before;
        self.running.extend(effects.iter().filter_map(|effect| match effect {
            KernelEffect::Start(run) => Some(*run),
            _other => None,
        }));
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
        list: ListName::Session,
        version: "0".into(),
    }
}
