//! A session made of dice.

use kernel::{Booked, CallPhase, Effect, Ending, Input, Kernel, Letter, Limits, Point, Refusal, Report, Spawn, Task};
use protocol::*;

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }

    fn pick<T: Clone>(&mut self, all: &[T]) -> Option<T> {
        if all.is_empty() { None } else { Some(all[self.below(all.len())].clone()) }
    }
}

pub(super) struct World {
    pub(super) kernel: Kernel,
    dice: Dice,
    now: At,
    ids: u128,
    fence: u64,
    /// What happened and is not written.
    pub(super) unwritten: Vec<Entry>,
}

fn terms() -> Terms {
    Terms {
        cwd: "/work".into(),
        model: "m".into(),
        permission: PermissionMode::Default,
        rules: Vec::new(),
        roots: Vec::new(),
        ask_user: true,
        max_turns: None,
        root_turns: None,
        limits: protocol::TermLimits::default(),
        budget: Budget::default(),
        effort: None,
        list: ListName::Session,
        version: "1".into(),
    }
}

impl World {
    pub(super) fn new(seed: u64) -> World {
        let limits = Limits { live: 1, depth: 3, ..Limits::default() };
        let dice = Dice(seed);
        let mut world =
            World { kernel: Kernel::new(limits), dice, now: At(1_000), ids: 0, fence: 1, unwritten: Vec::new() };
        let root = world.id();
        let spec = TaskSpec { rest: Rest::Idle, ..TaskSpec::new(Kind::Main, "main", "root") };
        world.apply(Input::Open { root, spec, definition: None, terms: terms() });
        world
    }

    fn id(&mut self) -> TaskId {
        self.ids += 1;
        TaskId::new(format!("{:032x}", self.ids).parse().unwrap())
    }

    /// Most of what dice ask for is refused, which must be all that is wrong with it.
    fn apply(&mut self, input: Input) {
        match self.kernel.apply(self.now, input) {
            Ok(effects) => self.unwritten.extend(effects.into_iter().filter_map(|effect| match effect {
                Effect::Record(entry) => Some(entry),
                _other => None,
            })),
            Err(Refusal::Impossible(defect)) => panic!("{defect}"),
            Err(_refusal) => {}
        }
    }

    pub(super) fn step(&mut self) {
        self.now = At(self.now.0 + self.dice.below(20) as u64);
        let tasks: Vec<Task> = self.kernel.tasks().cloned().collect();
        let Some(task) = self.dice.pick(&tasks) else { return };
        if task.is_running() && self.dice.below(4) > 0 {
            return self.report(&task);
        }
        let input = self.outside(&task);
        let resumes = matches!(input, Input::Adopt { .. } | Input::Suspend);
        self.apply(input);
        if resumes && self.dice.below(3) > 0 {
            self.apply(Input::Resume);
        }
    }

    /// Something that is done to a task.
    fn outside(&mut self, task: &Task) -> Input {
        let (id, by) = (task.id, CancelBy::User);
        match self.dice.below(24) {
            0..7 => {
                let delivery = [Delivery::Steer, Delivery::FollowUp, Delivery::Interrupt][self.dice.below(3)];
                Input::Send(Letter { to: id, from: Origin::User, delivery, body: Body::text("hear") })
            }
            7 => Input::Cancel { task: id, by, how: Cancel::Abort },
            8..10 => Input::Cancel { task: id, by, how: Cancel::WrapUp },
            10 => Input::Interrupt(id),
            11..13 => Input::Promote(id),
            13 => {
                self.fence += 1;
                Input::Adopt { fence: Fence(self.fence), terms: terms() }
            }
            14 => Input::Suspend,
            15 if self.dice.below(4) == 0 => Input::Stop { by },
            15..18 => Input::Stall { run: task.run(), since: At(self.now.0 - 9) },
            18 => Input::Stir(task.run()),
            19 => Input::Part { task: id, activation: task.activation },
            20..22 => Input::Forget(id),
            22 => self.spawn(TaskSpec { parent: Some(id), ..TaskSpec::new(Kind::Agent, "a", "by-hand") }, None),
            _ => {
                self.now = At(self.now.0 + 40_000);
                Input::Tick
            }
        }
    }

    fn spawn(&mut self, spec: TaskSpec, by: Option<(Run, Turn, CallId)>) -> Input {
        let until = (self.dice.below(4) == 0).then(|| At(self.now.0 + 50));
        Input::Spawn(Spawn { id: self.id(), spec, prompt: "work".into(), by, until, definition: None })
    }

    /// Something that a run says of itself.
    fn report(&mut self, task: &Task) {
        let (run, turn) = (task.run(), task.turn);
        let calls: Vec<(CallId, CallPhase)> =
            task.work.calls().map(|(call, phase)| (call.clone(), phase.clone())).collect();
        if let Some((call, _)) = self.dice.pick(&calls) {
            let input = self.of_call(task, call);
            return self.apply(input);
        }
        let text = String::from("so far");
        let report = match self.dice.below(16) {
            0..3 => Report::Boundary(Point::End),
            3..7 => {
                let quote =
                    Quote { input: 10, estimated: 10, least: 1, expected: 5, most: 9, price: None, spare: Cost::ZERO };
                Report::TurnBegun { model: "m".into(), quote }
            }
            7..11 => self.answer(turn),
            11 => {
                let (fault, booked) = (ModelFault::Transient, Booked::Used { output: 5 });
                Report::TurnFailed { turn, fault, message: String::new(), booked, retry: None }
            }
            12 => {
                Report::Park(kernel::Parking { until: Some(At(self.now.0 + 30_000)), why: protocol::ParkReason::Quota })
            }
            13 => Report::Greeted(Vec::new()),
            14 if self.dice.below(3) == 0 => {
                let ending = Ending::Failed { kind: FailKind::Model, message: "no".into() };
                Report::Ended { ending, text }
            }
            14 => Report::Intent("thinks".into()),
            _ => Report::Ended { ending: Ending::Completed, text },
        };
        self.apply(Input::Report(run, report));
    }

    fn answer(&mut self, turn: Turn) -> Report {
        let call = |n: usize| {
            let id = CallId(format!("c{}-{n}", turn.0));
            Block::Call(Call { id, tool: "t".into(), input: "{}".into() })
        };
        let content = match self.dice.below(3) {
            0 => vec![Block::Text { text: "done".into() }],
            calls => (0..calls).map(call).collect(),
        };
        let usage = Usage { input: 5, output: 2, ..Usage::default() };
        let (stop, cost) = (StopReason::End, Cost { tokens: 7, micros: 3 });
        Report::TurnAnswered { turn, content, stop, usage, cost, model: "m".into() }
    }

    fn of_call(&mut self, task: &Task, call: CallId) -> Input {
        let (run, turn) = (task.run(), task.turn);
        let report = match self.dice.below(8) {
            0..3 => {
                let kind = [Kind::Agent, Kind::Agent, Kind::Shell][self.dice.below(3)];
                let mode = [Mode::Sync, Mode::Background][self.dice.below(2)];
                let rest = [Rest::Idle, Rest::Finish][self.dice.below(2)];
                let spec = TaskSpec { mode, rest, parent: Some(task.id), ..TaskSpec::new(kind, "a", "child") };
                return self.spawn(spec, Some((run, turn, call)));
            }
            3 => Report::CallStarted { turn, call },
            4 => {
                let (on, mode) = (task.children.clone(), WaitMode::Any);
                Report::Wait { turn, call, on, mode, until: Some(At(self.now.0 + 100)) }
            }
            _ => {
                let answer = Answer { status: AnswerStatus::Done, text: "yes".into() };
                let evidence = vec![Evidence::Changed { path: "f".into() }];
                Report::CallAnswered { turn, call, answer, evidence }
            }
        };
        Input::Report(run, report)
    }
}
