//! What the kernels of a session keep of agents that are over. It is a program of its own, so that nothing else of it
//! takes memory meanwhile.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::VecDeque;
use std::time::Duration;

use bosun_kernel::{
    BoundaryPoint, Kernel, KernelEffect, KernelInput, NewMail, RunEnding, RunUpdate, SessionLimits, TaskSpawn,
};
use protocol::*;

/// Most bytes for each, in both kernels together.
const MOST: usize = 1024;

#[test]
fn an_agent_that_is_over_takes_little_memory() {
    let mut owner = Owner::open();
    owner.agents(1_000);
    let before = resident();
    owner.agents(20_000);
    let each = resident().saturating_sub(before) / 20_000;
    assert!(each < MOST, "{each} bytes for each agent");
    assert_eq!(owner.draft, owner.durable);
}

#[test]
fn a_task_that_is_kept_once_changes_in_one_kernel_alone() {
    let mut owner = Owner::open();
    owner.agents(2);
    let before = owner.durable.clone();
    let letter =
        NewMail { to: id(2), from: Principal::User, delivery: MailDelivery::Steer, body: MailBody::text("more") };
    owner.draft.apply(Timestamp(2), KernelInput::Send(letter.clone())).unwrap();
    assert_ne!(owner.draft.task(id(2)), owner.durable.task(id(2)));
    assert_eq!(owner.durable, before);
    owner.draft = before;
    owner.give(KernelInput::Send(letter));
    owner.work();
    assert_eq!(owner.draft.task(id(2)).unwrap().activation, Activation(2));
    assert_eq!(owner.draft, owner.durable);
}

/// The memory that the process has, in bytes.
fn resident() -> usize {
    let told = std::fs::read_to_string("/proc/self/statm").unwrap();
    told.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Two kernels, as the owner of a session has them.
struct Owner {
    draft: Kernel,
    durable: Kernel,
    started: u128,
    running: VecDeque<RunId>,
}

impl Owner {
    fn open() -> Owner {
        let limits = SessionLimits { total: u32::MAX, result_window: Duration::ZERO, ..SessionLimits::default() };
        let kernel = Kernel::new(limits);
        let mut owner = Owner { draft: kernel.clone(), durable: kernel, started: 1, running: VecDeque::new() };
        let spec = TaskSpec { on_complete: CompletionPolicy::Idle, ..TaskSpec::new(TaskType::Main, "main", "root") };
        owner.give(KernelInput::Open { root: id(1), spec, definition: None, config: terms() });
        owner
    }

    /// So many agents of the root, one after the other.
    fn agents(&mut self, count: u128) {
        for _ in 0..count {
            self.started += 1;
            let named = TaskSpec::new(TaskType::Agent, "general-purpose", format!("worker-{}", self.started));
            let rest = if self.started.is_multiple_of(2) { CompletionPolicy::Idle } else { CompletionPolicy::Finish };
            let spec = TaskSpec { parent: Some(id(1)), on_complete: rest, description: "Works".into(), ..named };
            let id = id(self.started);
            let spawn = TaskSpawn { id, spec, prompt: "go".into(), by: None, until: None, definition: None };
            self.give(KernelInput::Spawn(spawn));
            self.work();
        }
    }

    /// One turn of each run, and its end.
    fn work(&mut self) {
        while let Some(run) = self.running.pop_front() {
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
            let turn = self.draft.task(run.task).unwrap().turn;
            let content = vec![ContentBlock::Text { text: "so".into() }];
            let (stop, usage, cost, model) = (StopReason::End, Usage::default(), Cost::ZERO, "m".into());
            self.report(run, RunUpdate::TurnAnswered { turn, content, stop, usage, cost, model });
            self.report(run, RunUpdate::Ended { ending: RunEnding::Completed, text: "done".into() });
        }
    }

    fn report(&mut self, run: RunId, report: RunUpdate) {
        self.give(KernelInput::Report(run, report));
    }

    /// Decides, and adopts what was decided.
    fn give(&mut self, input: KernelInput) {
        for effect in self.draft.apply(Timestamp(1), input).unwrap() {
            match effect {
                KernelEffect::Record(entry) => {
                    self.durable.evolve(&entry).unwrap();
                    self.draft.share_task(entry.task, &self.durable);
                }
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
        limits: AgentLimits::default(),
        budget: Budget::default(),
        effort: None,
        list: ListName::Session,
        version: "0".into(),
    }
}
