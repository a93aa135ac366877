//! The memory that the kernels of a session use for agents at rest. This is a separate test program, so that no other
//! test uses memory meanwhile.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::VecDeque;
use std::time::Duration;

use bosun_kernel::{
    BoundaryPoint, Kernel, KernelEffect, KernelInput, NewMail, RunEnding, RunUpdate, SessionLimits, TaskSpawn,
};
use protocol::*;

/// Maximum bytes per agent, in both kernels together.
const MAX_BYTES_PER_AGENT: usize = 1024;

#[test]
fn an_agent_at_rest_uses_little_memory() {
    let mut owner = Owner::open();
    owner.run_agents(1_000);
    let before = resident_bytes();
    owner.run_agents(20_000);
    let bytes_per_agent = resident_bytes().saturating_sub(before) / 20_000;
    assert!(bytes_per_agent < MAX_BYTES_PER_AGENT, "{bytes_per_agent} bytes for each agent");
    assert_eq!(owner.draft, owner.durable);
}

#[test]
fn a_shared_task_can_be_changed_in_one_kernel_only() {
    let mut owner = Owner::open();
    owner.run_agents(2);
    let before = owner.durable.clone();
    let mail =
        NewMail { to: id(2), from: Principal::User, delivery: MailDelivery::Steer, body: MailBody::text("more") };
    owner.draft.decide(Timestamp(2), KernelInput::Send(mail.clone())).unwrap();
    assert_ne!(owner.draft.task(id(2)), owner.durable.task(id(2)));
    assert_eq!(owner.durable, before);
    owner.draft = before;
    owner.apply(KernelInput::Send(mail));
    owner.work();
    assert_eq!(owner.draft.task(id(2)).unwrap().activation, Activation(2));
    assert_eq!(owner.draft, owner.durable);
}

/// The memory that the process uses, in bytes.
fn resident_bytes() -> usize {
    let stats = std::fs::read_to_string("/proc/self/statm").unwrap();
    stats.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
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
        owner.apply(KernelInput::Open { root: id(1), spec, definition: None, config: session_config() });
        owner
    }

    /// Runs so many agents of the root, one after the other.
    fn run_agents(&mut self, count: u128) {
        for _ in 0..count {
            self.started += 1;
            let named = TaskSpec::new(TaskType::Agent, "general-purpose", format!("worker-{}", self.started));
            let on_complete =
                if self.started.is_multiple_of(2) { CompletionPolicy::Idle } else { CompletionPolicy::Finish };
            let spec = TaskSpec { parent: Some(id(1)), on_complete, description: "Works".into(), ..named };
            let id = id(self.started);
            let spawn =
                TaskSpawn { id, spec, prompt: "go".into(), by: None, until: None, definition: None, redo_reason: None };
            self.apply(KernelInput::Spawn(spawn));
            self.work();
        }
    }

    /// Reports one turn of each run, and its end.
    fn work(&mut self) {
        while let Some(run) = self.running.pop_front() {
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
            let turn = self.draft.task(run.task).unwrap().turn;
            let content = vec![ContentBlock::Text { text: "so".into() }];
            let (stop, usage, cost, model) = (StopReason::End, Usage::default(), Cost::ZERO, "m".into());
            self.report(run, RunUpdate::TurnAnswered { turn, content, stop, usage, cost, model });
            self.report(run, RunUpdate::Ended { ending: RunEnding::Completed, text: "done".into() });
        }
    }

    fn report(&mut self, run: RunId, report: RunUpdate) {
        self.apply(KernelInput::Report(run, report));
    }

    /// Applies an input to the first kernel and the resulting events to the second.
    fn apply(&mut self, input: KernelInput) {
        for effect in self.draft.decide(Timestamp(1), input).unwrap() {
            match effect {
                KernelEffect::Record(entry) => {
                    self.durable.apply_event(&entry).unwrap();
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
        limits: AgentLimits::default(),
        budget: Budget::default(),
        effort: None,
        list: ListName::Session,
        version: "0".into(),
    }
}
