//! A runtime made of dice: it performs effects by remembering them, and reports at random.

use std::collections::BTreeMap;

use protocol::*;

use super::asks::Asks;
use super::audit::Audit;
use crate::*;

/// A generator small enough to read: splitmix64.
pub(super) struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        if from.is_empty() { None } else { Some(from[self.below(from.len() as u64) as usize].clone()) }
    }
}

pub(super) struct World {
    pub(super) kernel: Kernel,
    pub(super) limits: Limits,
    pub(super) log: Vec<Entry>,
    pub(super) now: At,
    pub(super) dice: Dice,
    ids: u128,
    /// Everything that was ever asked.
    pub(super) asked: Vec<Ask>,
    fence: u64,
    /// The runs that were started and not stopped, as a runtime would hold them.
    active: BTreeMap<TaskId, Run>,
    /// Runs that are over; their reports must change nothing.
    old: Vec<Run>,
    audit: Audit,
    root_budget: Budget,
}

impl World {
    pub(super) fn new(seed: u64) -> World {
        let mut dice = Dice(seed);
        let limits = Limits {
            live: 1 + dice.below(4) as u32,
            depth: 1 + dice.below(4) as u32,
            total: 4 + dice.below(20) as u32,
            ..Limits::default()
        };
        World::with_limits(seed, limits)
    }

    pub(super) fn with_limits(seed: u64, limits: Limits) -> World {
        let mut world = World {
            kernel: Kernel::new(limits.clone()),
            limits,
            log: Vec::new(),
            now: At(1_000),
            dice: Dice(seed ^ 0xb05),
            ids: 0,
            asked: Vec::new(),
            fence: 1,
            active: BTreeMap::new(),
            old: Vec::new(),
            audit: Audit::default(),
            root_budget: Budget::default(),
        };
        let root = world.new_id();
        let spec = world.spec(Kind::Main, Mode::Background, Rest::Idle, None);
        world.root_budget = spec.budget;
        world.must(Input::Open { root, spec, definition: None, terms: terms(world.root_budget) });
        world.must(user_mail(root, Delivery::Steer));
        world
    }

    /// One random thing happens.
    pub(super) fn step(&mut self) {
        if self.dice.one_in(4) {
            self.now = At(self.now.0 + self.dice.below(50));
        }
        match self.dice.below(100) {
            0..72 => self.some_run_reports(),
            72..80 => self.somebody_writes(),
            80..83 => self.tick(),
            83..85 => self.somebody_cancels(),
            85..86 => self.somebody_interrupts(),
            86..88 => self.somebody_promotes(),
            88..92 => self.the_owner_dies(),
            92..93 => self.the_owner_leaves(),
            93..94 => self.everything_stops(),
            94..96 => self.a_lease_is_granted(),
            96..98 => self.somebody_decides(),
            _ => self.an_old_run_reports(),
        }
    }

    /// A chain of synchronous children, each waiting for the next.
    pub(super) fn chain(&mut self, depth: u32) {
        let mut run = self.only_active();
        for _ in 0..depth {
            let (turn, call) = self.call_one_tool(run);
            let id = self.new_id();
            let spec = self.spec(Kind::Agent, Mode::Sync, Rest::Finish, Some(run.task));
            self.must(Input::Spawn(Spawn {
                id,
                spec,
                prompt: "go".into(),
                by: Some((run, turn, call)),
                until: None,
                definition: None,
            }));
            run = self.active[&id];
        }
    }

    /// Lets everything end in order: every run answers what is open and ends, until nothing is left to run.
    pub(super) fn drain(&mut self) {
        self.must_or_closed(Input::Resume);
        for _ in 0..5_000 {
            let Some(run) = self.active.values().next_back().copied() else { break };
            self.finish_step(run);
        }
        if let Some(at) = self.kernel.alarm() {
            self.now = at.max(self.now);
            self.tick();
            self.drain();
        }
    }

    fn finish_step(&mut self, run: Run) {
        let Some(task) = self.kernel.task(run.task).filter(|task| task.is_running() && task.run() == run) else {
            self.active.remove(&run.task);
            return;
        };
        let (turn, kind) = (task.turn, task.kind);
        // A last turn that is due is taken, whatever was said before.
        let due = task.work.is_between() && matches!(task.last, Some(Last::Due(_)));
        let work = if due { Work::Boundary } else { task.work.clone() };
        if kind == Kind::Shell {
            self.must(Input::Report(run, Report::Ended { ending: Ending::Completed, text: "ran".into() }));
            return;
        }
        match work {
            Work::Asking { .. } => self.must(Input::Report(run, answer(turn, vec![say("done")], Cost::ZERO))),
            Work::Acting(calls) => {
                let open = calls.into_iter().find(|(_, phase)| {
                    matches!(
                        phase,
                        CallPhase::Pending | CallPhase::Started | CallPhase::Waited { .. } | CallPhase::Decided(_)
                    )
                });
                match open {
                    Some((call, _)) => self.must(Input::Report(run, answered(turn, call))),
                    None if self.decide_for(run) => {}
                    None => self.finish_one_below(run),
                }
            }
            Work::Answered { text: true } => {
                self.must(Input::Report(run, Report::Boundary(Point::End)));
                let ended = Report::Ended { ending: Ending::Completed, text: "done".into() };
                self.must(Input::Report(run, ended));
            }
            Work::Fresh | Work::Boundary | Work::Answered { text: false } => {
                match self.kernel.apply(self.now, Input::Report(run, begin(FREE))) {
                    Ok(effects) => self.perform(effects),
                    Err(Refusal::NoSlot) => self.finish_one_below(run),
                    Err(_) => {
                        let ending = Ending::TimedOut(Limit::Turns);
                        self.must(Input::Report(run, Report::Ended { ending, text: String::new() }));
                    }
                }
            }
        }
    }

    /// The run can only wait: lets another one work, which must exist or the session would be stuck.
    fn finish_one_below(&mut self, waiting: Run) {
        let next = self.active.values().copied().find(|run| *run != waiting && self.can_work(*run));
        match next {
            Some(run) => self.finish_step(run),
            None => match self.kernel.alarm() {
                Some(at) => {
                    self.now = at.max(self.now);
                    self.tick();
                }
                None => panic!("deadlock: {waiting} waits and nobody can work"),
            },
        }
    }

    fn can_work(&self, run: Run) -> bool {
        self.kernel.task(run.task).is_some_and(|task| {
            let stuck =
                task.work.calls().all(|(_, phase)| {
                    matches!(phase, CallPhase::Waiting(_) | CallPhase::Asking(_) | CallPhase::Answered)
                }) && matches!(task.work, Work::Acting(_));
            let footed = task.phase == Phase::Running(Footing::Slot) || !task.work.is_between();
            task.is_running() && task.run() == run && footed && !stuck
        })
    }

    fn some_run_reports(&mut self) {
        let runs: Vec<Run> = self.active.values().copied().collect();
        let Some(run) = self.dice.pick(&runs) else {
            return self.somebody_writes();
        };
        let Some(task) = self.kernel.task(run.task) else { return };
        let (turn, work, kind) = (task.turn, task.work.clone(), task.kind);
        if kind == Kind::Shell {
            if self.dice.one_in(3) {
                self.random_end(run);
            }
            return;
        }
        match work {
            Work::Fresh | Work::Boundary | Work::Answered { .. } => self.report_between(run, &work),
            Work::Asking { reserved, .. } => self.report_asking(run, turn, reserved),
            Work::Acting(calls) => {
                let calls: Vec<_> = calls.into_iter().collect();
                if let Some((call, phase)) = self.dice.pick(&calls) {
                    self.report_call(run, turn, call, phase);
                }
            }
        }
    }

    fn report_between(&mut self, run: Run, work: &Work) {
        match self.dice.below(10) {
            0..2 => self.may(Input::Report(run, Report::Boundary(Point::Between))),
            2 => self.may(Input::Report(run, Report::Boundary(Point::End))),
            3 => {
                let until = At(self.now.0 + self.dice.below(80));
                self.may(Input::Report(run, Report::Park(until)));
            }
            4 => {
                let why = if self.dice.one_in(2) { WrapUp::Budget } else { WrapUp::Time };
                let compaction = Compaction { messages: 1, digest: None };
                let report = match self.dice.below(8) {
                    0 => Report::WrapUp(why),
                    1..4 => Report::Compacted(compaction),
                    _ => Report::Intent("looking".into()),
                };
                self.may(Input::Report(run, report));
            }
            5..7 if matches!(work, Work::Answered { .. }) => self.random_end(run),
            _ => {
                let quote = self.quote();
                self.may(Input::Report(run, begin(quote)));
            }
        }
    }

    fn report_asking(&mut self, run: Run, turn: Turn, reserved: Cost) {
        let cost = Cost { tokens: self.dice.below(reserved.tokens + 1), micros: self.dice.below(reserved.micros + 1) };
        let report = match self.dice.below(10) {
            0 => {
                Report::TurnFailed { turn, fault: ModelFault::Transient, message: "cut".into(), booked: self.booked() }
            }
            1 => answer(turn, vec![], cost),
            2..5 => answer(turn, vec![say("an answer")], cost),
            n => {
                let calls = (0..1 + self.dice.below(3)).map(|i| call(&format!("c{i}")));
                let mut content: Vec<Block> = calls.collect();
                if n == 9 {
                    content.push(call("c0"));
                }
                answer(turn, content, cost)
            }
        };
        self.may(Input::Report(run, report));
    }

    fn report_call(&mut self, run: Run, turn: Turn, call: CallId, phase: CallPhase) {
        if self.dice.one_in(40) {
            return self.may(Input::Report(run, Report::CallsDropped { turn }));
        }
        match phase {
            CallPhase::Pending if self.dice.one_in(4) => self.may(Input::Report(run, answered(turn, call))),
            CallPhase::Pending if self.dice.one_in(3) => self.ask_permission(run, turn, call),
            CallPhase::Pending => self.may(Input::Report(run, Report::CallStarted { turn, call })),
            CallPhase::Started => match self.dice.below(7) {
                0..3 => self.spawn(run, turn, call),
                3 => self.wait(run, turn, call),
                4 => self.ask_question(run, turn, call),
                _ => self.may(Input::Report(run, answered(turn, call))),
            },
            CallPhase::Waiting(_) | CallPhase::Answered if self.dice.one_in(10) => {
                assert!(self.kernel.clone().apply(self.now, Input::Report(run, answered(turn, call))).is_err());
            }
            CallPhase::Waiting(_) | CallPhase::Answered => {}
            CallPhase::Asking(ask) => self.while_asking(run, turn, ask),
            CallPhase::Decided(_) if self.dice.one_in(2) => self.start_if_allowed(run, turn, call),
            CallPhase::Waited { .. } | CallPhase::Decided(_) => self.may(Input::Report(run, answered(turn, call))),
        }
    }

    fn spawn(&mut self, run: Run, turn: Turn, call: CallId) {
        let id = if self.dice.one_in(20) { run.task } else { self.new_id() };
        let kind = if self.dice.one_in(4) { Kind::Shell } else { Kind::Agent };
        let mode = if kind == Kind::Agent && self.dice.one_in(2) { Mode::Sync } else { Mode::Background };
        let rest = if kind == Kind::Agent && self.dice.one_in(3) { Rest::Idle } else { Rest::Finish };
        let spec = self.spec(kind, mode, rest, Some(run.task));
        self.may(Input::Spawn(Spawn {
            id,
            spec,
            prompt: "work".into(),
            by: Some((run, turn, call)),
            until: None,
            definition: None,
        }));
    }

    fn wait(&mut self, run: Run, turn: Turn, call: CallId) {
        let on = (0..1 + self.dice.below(2)).filter_map(|_| self.any_task()).collect();
        let mode = if self.dice.one_in(2) { WaitMode::Any } else { WaitMode::All };
        let until = Some(At(self.now.0 + self.dice.below(100))).filter(|_| self.dice.one_in(2));
        self.may(Input::Report(run, Report::Wait { turn, call, on, mode, until }));
    }

    fn random_end(&mut self, run: Run) {
        let ending = match self.dice.below(8) {
            0 => Ending::Failed { kind: FailKind::Model, message: "broke".into() },
            1 => Ending::TimedOut(Limit::Turns),
            2 => Ending::BudgetExhausted,
            _ => Ending::Completed,
        };
        self.may(Input::Report(run, Report::Ended { ending, text: "text".into() }));
    }

    fn somebody_writes(&mut self) {
        let Some(to) = self.any_task() else { return };
        let delivery = match self.dice.below(4) {
            0 => Delivery::FollowUp,
            1 => Delivery::Interrupt,
            _ => Delivery::Steer,
        };
        let from = if self.dice.one_in(3) { Origin::Runtime } else { Origin::User };
        let body = Body::text("psst");
        self.may(Input::Send(Letter { to, from, delivery, body }));
    }

    fn somebody_cancels(&mut self) {
        let Some(task) = self.any_task() else { return };
        let how = if self.dice.one_in(2) { Cancel::WrapUp } else { Cancel::Abort };
        self.may(Input::Cancel { task, by: CancelBy::User, how });
    }

    fn somebody_interrupts(&mut self) {
        let Some(task) = self.any_task() else { return };
        self.may(Input::Interrupt(task));
    }

    fn somebody_promotes(&mut self) {
        let Some(task) = self.any_task() else { return };
        self.may(Input::Promote(task));
    }

    fn a_lease_is_granted(&mut self) {
        let runs: Vec<Run> = self.active.values().copied().collect();
        let Some(run) = self.dice.pick(&runs) else { return };
        let until = At(self.now.0 + self.dice.below(60));
        self.may(Input::Lease { run, until });
    }

    fn everything_stops(&mut self) {
        if self.dice.one_in(3) {
            self.must(Input::Stop { by: CancelBy::User });
        } else if self.dice.one_in(4) {
            let from = SessionId::new(self.new_id().uuid());
            self.must(Input::Fork { from });
        }
    }

    /// The process is gone: a new one folds the log, adopts the session and lets it go on.
    fn the_owner_dies(&mut self) {
        let mut reborn = Kernel::new(self.limits.clone());
        for entry in &self.log {
            reborn.evolve(entry).unwrap();
        }
        self.audit.same_but_leases(&self.kernel, &reborn);
        self.kernel = reborn;
        self.old.extend(std::mem::take(&mut self.active).into_values());
        self.fence += 1;
        self.must(Input::Adopt { fence: Fence(self.fence), terms: terms(self.root_budget) });
        self.audit.nobody_runs(&self.kernel);
        self.must(Input::Resume);
    }

    fn the_owner_leaves(&mut self) {
        self.must(Input::Suspend);
        self.audit.nobody_runs(&self.kernel);
        self.the_owner_dies();
    }

    fn an_old_run_reports(&mut self) {
        let Some(run) = self.dice.pick(&self.old) else { return };
        let report = match self.dice.below(3) {
            0 => Report::Ended { ending: Ending::Completed, text: "late".into() },
            1 => Report::Boundary(Point::Between),
            _ => begin(FREE),
        };
        let before = self.kernel.clone();
        let result = self.kernel.apply(self.now, Input::Report(run, report));
        assert_eq!(result, Err(Refusal::Stale));
        assert_eq!(self.kernel, before);
    }

    fn tick(&mut self) {
        self.must(Input::Tick);
        Asks::expired(&self.kernel, self.now);
    }

    fn call_one_tool(&mut self, run: Run) -> (Turn, CallId) {
        self.must(Input::Report(run, Report::Boundary(Point::Between)));
        self.must(Input::Report(run, begin(FREE)));
        let turn = self.kernel.task(run.task).unwrap().turn;
        self.must(Input::Report(run, answer(turn, vec![call("c0")], Cost::ZERO)));
        let id = CallId("c0".into());
        self.must(Input::Report(run, Report::CallStarted { turn, call: id.clone() }));
        (turn, id)
    }

    fn only_active(&self) -> Run {
        *self.active.values().next().unwrap()
    }

    fn any_task(&mut self) -> Option<TaskId> {
        let ids: Vec<TaskId> = self.kernel.tasks().map(|task| task.id).collect();
        self.dice.pick(&ids)
    }

    fn new_id(&mut self) -> TaskId {
        self.ids += 1;
        TaskId::new(format!("{:032x}", self.ids).parse().unwrap())
    }

    fn quote(&mut self) -> Quote {
        let million = |n: u64| n * 1_000_000;
        let price =
            Price { input: million(self.dice.below(3)), output: million(self.dice.below(3)), ..Price::default() };
        let (least, most) = (self.dice.below(10) as u32, self.dice.below(40) as u32);
        let spare = Cost { tokens: self.dice.below(20), micros: self.dice.below(20) };
        Quote { input: self.dice.below(40), least, most, price: Some(price).filter(|_| self.dice.one_in(2)), spare }
    }

    fn booked(&mut self) -> Booked {
        if self.dice.one_in(2) { Booked::Nothing } else { Booked::Reservation }
    }

    fn spec(&mut self, kind: Kind, mode: Mode, rest: Rest, parent: Option<TaskId>) -> TaskSpec {
        let budget = if self.dice.one_in(3) {
            Budget { tokens: Some(self.dice.below(300)), micros: Some(self.dice.below(300)) }
        } else {
            Budget::default()
        };
        let max_turns = Some(1 + self.dice.below(6) as u32).filter(|_| self.dice.one_in(3));
        let name = format!("n{}", self.dice.below(3));
        let (agent, description) = ("task", "work".into());
        TaskSpec { parent, description, mode, rest, max_turns, budget, ..TaskSpec::new(kind, agent, name) }
    }

    pub(super) fn must(&mut self, input: Input) {
        let effects = match self.kernel.apply(self.now, input.clone()) {
            Ok(effects) => effects,
            Err(refusal) => panic!("{input:?} was refused: {refusal}"),
        };
        self.perform(effects);
    }

    fn must_or_closed(&mut self, input: Input) {
        if let Ok(effects) = self.kernel.apply(self.now, input) {
            self.perform(effects);
        }
    }

    /// Applies an input that may be refused; a refusal must have changed nothing.
    pub(super) fn may(&mut self, input: Input) {
        let before = self.kernel.clone();
        match self.kernel.apply(self.now, input) {
            Ok(effects) => self.perform(effects),
            Err(refusal) => {
                assert!(!matches!(refusal, Refusal::Impossible(_)), "{refusal}");
                assert_eq!(self.kernel, before, "a refusal ({refusal}) changed the state");
            }
        }
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in &effects {
            match effect {
                Effect::Record(entry) => self.log.push(entry.clone()),
                Effect::Start(run) => {
                    if let Some(old) = self.active.insert(run.task, *run) {
                        self.old.push(old);
                    }
                }
                Effect::Stop { run, how: Cancel::Abort } => {
                    if self.active.get(&run.task) == Some(run) {
                        self.active.remove(&run.task);
                    }
                    self.old.push(*run);
                }
                Effect::Stop { how: Cancel::WrapUp, .. }
                | Effect::Go(_)
                | Effect::WaitOver { .. }
                | Effect::AskOver { .. } => {}
            }
        }
        self.active.retain(|id, run| self.kernel.task(*id).is_some_and(|task| task.is_running() && task.run() == *run));
        self.audit.after(&self.kernel, &self.limits, &effects);
    }
}

fn terms(budget: Budget) -> Terms {
    let (cwd, model, version) = ("/w".into(), "script".into(), "0".into());
    Terms {
        cwd,
        model,
        permission: PermissionMode::Default,
        rules: Vec::new(),
        roots: Vec::new(),
        ask_user: true,
        max_turns: Some(9),
        budget,
        effort: None,
        version,
    }
}

fn user_mail(to: TaskId, delivery: Delivery) -> Input {
    Input::Send(Letter { to, from: Origin::User, delivery, body: Body::text("hello") })
}

/// A question that costs nothing.
const FREE: Quote = Quote { input: 0, least: 0, most: 0, price: None, spare: Cost::ZERO };

fn begin(quote: Quote) -> Report {
    Report::TurnBegun { model: "script".into(), quote }
}

fn answer(turn: Turn, content: Vec<Block>, cost: Cost) -> Report {
    let (stop, usage, model) = (StopReason::End, Usage::default(), "script".into());
    Report::TurnAnswered { turn, content, stop, usage, cost, model }
}

pub(super) fn answered(turn: Turn, call: CallId) -> Report {
    Report::CallAnswered {
        turn,
        call,
        answer: Answer { status: AnswerStatus::Done, text: "ok".into() },
        evidence: Vec::new(),
    }
}

fn say(text: &str) -> Block {
    Block::Text { text: text.into() }
}

fn call(id: &str) -> Block {
    Block::Call(Call { id: CallId(id.into()), tool: "shell".into(), input: "{}".into() })
}
