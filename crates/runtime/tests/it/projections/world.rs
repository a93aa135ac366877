//! A session with random inputs.

use kernel::{
    BoundaryPoint, CallPhase, FailedCallCharge, InputRefusal, Kernel, KernelEffect, KernelInput, KernelTask, NewMail,
    RunEnding, RunUpdate, SessionLimits, TaskSpawn,
};
use protocol::*;

/// Random numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn pick<T: Clone>(&mut self, all: &[T]) -> Option<T> {
        if all.is_empty() { None } else { Some(all[self.below(all.len())].clone()) }
    }
}

pub(super) struct World {
    pub(super) kernel: Kernel,
    dice: Dice,
    now: Timestamp,
    ids: u128,
    fence: u64,
    /// Events that are not written yet.
    pub(super) unwritten: Vec<LogEntry>,
}

fn session_config() -> SessionConfig {
    SessionConfig {
        cwd: "/work".into(),
        model: "m".into(),
        permission: PermissionMode::Default,
        rules: Vec::new(),
        roots: Vec::new(),
        ask_user: true,
        max_turns: None,
        root_turns: None,
        limits: protocol::AgentLimits::default(),
        budget: Budget::default(),
        effort: None,
        list: ListName::Session,
        version: "1".into(),
    }
}

impl World {
    pub(super) fn new(seed: u64) -> World {
        let limits = SessionLimits { live: 1, depth: 3, ..SessionLimits::default() };
        let dice = Dice(seed);
        let mut world =
            World { kernel: Kernel::new(limits), dice, now: Timestamp(1_000), ids: 0, fence: 1, unwritten: Vec::new() };
        let root = world.id();
        let spec = TaskSpec { on_complete: CompletionPolicy::Idle, ..TaskSpec::new(TaskType::Main, "main", "root") };
        world.apply(KernelInput::Open { root, spec, definition: None, config: session_config() });
        world
    }

    fn id(&mut self) -> TaskId {
        self.ids += 1;
        TaskId::new(format!("{:032x}", self.ids).parse().unwrap())
    }

    /// Applies an input. Most random inputs are refused, but none may lead to an invalid event.
    fn apply(&mut self, input: KernelInput) {
        match self.kernel.decide(self.now, input) {
            Ok(effects) => self.unwritten.extend(effects.into_iter().filter_map(|effect| match effect {
                KernelEffect::Record(entry) => Some(entry),
                _other => None,
            })),
            Err(InputRefusal::InvalidEvent(defect)) => panic!("{defect}"),
            Err(_refusal) => {}
        }
    }

    pub(super) fn step(&mut self) {
        self.now = Timestamp(self.now.0 + self.dice.below(20) as u64);
        let tasks: Vec<KernelTask> = self.kernel.tasks().cloned().collect();
        let Some(task) = self.dice.pick(&tasks) else { return };
        if task.is_running() && self.dice.below(4) > 0 {
            return self.report(&task);
        }
        let input = self.outside_input(&task);
        let resumes = matches!(input, KernelInput::Adopt { .. } | KernelInput::Suspend);
        self.apply(input);
        if resumes && self.dice.below(3) > 0 {
            self.apply(KernelInput::Resume);
        }
    }

    /// A random input about a task from outside its run.
    fn outside_input(&mut self, task: &KernelTask) -> KernelInput {
        let (id, by) = (task.id, CancelBy::User);
        match self.dice.below(24) {
            0..7 => {
                let delivery =
                    [MailDelivery::Steer, MailDelivery::FollowUp, MailDelivery::Interrupt][self.dice.below(3)];
                KernelInput::Send(NewMail { to: id, from: Principal::User, delivery, body: MailBody::text("hear") })
            }
            7 => KernelInput::Cancel { task: id, by, how: CancelMode::Abort },
            8..10 => KernelInput::Cancel { task: id, by, how: CancelMode::WrapUp },
            10 => KernelInput::Interrupt(id),
            11..13 => KernelInput::Promote(id),
            13 => {
                self.fence += 1;
                KernelInput::Adopt { fence: Fence(self.fence), config: session_config() }
            }
            14 => KernelInput::Suspend,
            15 if self.dice.below(4) == 0 => KernelInput::Stop { by },
            15..18 => KernelInput::Stall { run: task.run_id(), since: Timestamp(self.now.0 - 9) },
            18 => KernelInput::Unstall(task.run_id()),
            19 => KernelInput::StopHooksRan { task: id, activation: task.activation },
            20..22 => KernelInput::Forget(id),
            22 => self.spawn(TaskSpec { parent: Some(id), ..TaskSpec::new(TaskType::Agent, "a", "by-hand") }, None),
            _ => {
                self.now = Timestamp(self.now.0 + 40_000);
                KernelInput::Tick
            }
        }
    }

    fn spawn(&mut self, spec: TaskSpec, by: Option<(RunId, Turn, CallId)>) -> KernelInput {
        let until = (self.dice.below(4) == 0).then(|| Timestamp(self.now.0 + 50));
        KernelInput::Spawn(TaskSpawn {
            id: self.id(),
            spec,
            prompt: "work".into(),
            by,
            until,
            definition: None,
            redo_reason: None,
        })
    }

    /// Applies a random report of a task's run.
    fn report(&mut self, task: &KernelTask) {
        let (run, turn) = (task.run_id(), task.turn);
        let calls: Vec<(CallId, CallPhase)> =
            task.work.calls().map(|(call, phase)| (call.clone(), phase.clone())).collect();
        if let Some((call, _)) = self.dice.pick(&calls) {
            let input = self.call_input(task, call);
            return self.apply(input);
        }
        let text = String::from("so far");
        let report = match self.dice.below(16) {
            0..3 => RunUpdate::Boundary(BoundaryPoint::End),
            3..7 => {
                let quote = TurnQuote {
                    input: 10,
                    estimated: 10,
                    min_output: 1,
                    expected_output: 5,
                    max_output: 9,
                    price: None,
                    last_turn_reserve: Cost::ZERO,
                };
                RunUpdate::TurnBegun { model: "m".into(), quote }
            }
            7..11 => self.answer(turn),
            11 => {
                let (fault, booked) = (ModelFault::Transient, FailedCallCharge::Used { output: 5 });
                RunUpdate::TurnFailed { turn, fault, message: String::new(), charge: booked, retry: None }
            }
            12 => RunUpdate::Park(kernel::Parking {
                until: Some(Timestamp(self.now.0 + 30_000)),
                why: protocol::ParkReason::Quota,
            }),
            13 => RunUpdate::StartHooksRan(Vec::new()),
            14 if self.dice.below(3) == 0 => {
                let ending = RunEnding::Failed { kind: FailKind::Model, message: "no".into() };
                RunUpdate::Ended { ending, text }
            }
            14 => RunUpdate::Intent("thinks".into()),
            _ => RunUpdate::Ended { ending: RunEnding::Completed, text },
        };
        self.apply(KernelInput::Report(run, report));
    }

    fn answer(&mut self, turn: Turn) -> RunUpdate {
        let call = |n: usize| {
            let id = CallId(format!("c{}-{n}", turn.0));
            ContentBlock::Call(ToolCallRequest { id, tool: "t".into(), input: "{}".into() })
        };
        let content = match self.dice.below(3) {
            0 => vec![ContentBlock::Text { text: "done".into() }],
            calls => (0..calls).map(call).collect(),
        };
        let usage = Usage { input: 5, output: 2, ..Usage::default() };
        let (stop, cost) = (StopReason::End, Cost { tokens: 7, micros: 3 });
        RunUpdate::TurnAnswered { turn, content, stop, usage, cost, model: "m".into() }
    }

    fn call_input(&mut self, task: &KernelTask, call: CallId) -> KernelInput {
        let (run, turn) = (task.run_id(), task.turn);
        let report = match self.dice.below(8) {
            0..3 => {
                let kind = [TaskType::Agent, TaskType::Agent, TaskType::Shell][self.dice.below(3)];
                let mode = [TaskMode::Sync, TaskMode::Background][self.dice.below(2)];
                let rest = [CompletionPolicy::Idle, CompletionPolicy::Finish][self.dice.below(2)];
                let spec =
                    TaskSpec { mode, on_complete: rest, parent: Some(task.id), ..TaskSpec::new(kind, "a", "child") };
                return self.spawn(spec, Some((run, turn, call)));
            }
            3 => RunUpdate::CallStarted { turn, call },
            4 => {
                let (on, mode) = (task.children.clone(), WaitMode::Any);
                RunUpdate::Wait { turn, call, on, mode, until: Some(Timestamp(self.now.0 + 100)) }
            }
            _ => {
                let answer = ToolResult { status: ToolResultStatus::Done, text: "yes".into() };
                let evidence = vec![Evidence::Changed { path: "f".into() }];
                RunUpdate::CallAnswered { turn, call, answer, evidence }
            }
        };
        KernelInput::Report(run, report)
    }
}
