//! Trees of agents that do what they do as far as they may: every cap holds exactly, and everybody finishes.

use std::collections::BTreeMap;

use protocol::*;

use super::world::{FREE, World, answer, answered, begin, call, parking, say, user_mail};
use super::{checks, in_parallel};
use crate::*;

/// How the agents of a tree behave.
struct Habit {
    /// How many children a message starts, at most.
    width: u64,
    /// Whether it starts exactly as many.
    always: bool,
    /// How many such messages the root writes; everybody else writes one.
    messages: u32,
    /// Whether the root works on while its children do.
    background: bool,
    /// One step in how many is the owner's last.
    deaths: Option<u64>,
}

const FIVE: Habit = Habit { width: 5, always: true, messages: 8, background: true, deaths: Some(150) };
const WAITING: Habit = Habit { width: 3, always: false, messages: 2, background: false, deaths: Some(100) };

/// What was refused, by its words, who has written how many messages, and the most agents that ran at once.
#[derive(Default)]
struct Seen {
    messages: BTreeMap<TaskId, u32>,
    refusals: BTreeMap<String, u32>,
    most: u32,
}

impl World {
    /// Lets every run do its habit in random order until nothing is left to do. Somebody can always work.
    fn grow(&mut self, habit: &Habit) -> Seen {
        let mut seen = Seen::default();
        loop {
            let workable: Vec<Run> = self.active.values().copied().filter(|run| self.can_work(*run)).collect();
            let Some(run) = self.dice.pick(&workable) else { break };
            self.behave(run, habit, &mut seen);
            seen.most = seen.most.max(self.kernel.state.slots.held);
            if habit.deaths.is_some_and(|deaths| self.dice.one_in(deaths)) {
                self.the_owner_dies();
            }
        }
        assert!(self.kernel.is_quiet(), "nobody can work and somebody waits");
        seen
    }

    fn behave(&mut self, run: Run, habit: &Habit, seen: &mut Seen) {
        let task = self.kernel.task(run.task).unwrap();
        let (turn, work, is_root) = (task.turn, task.work.clone(), task.kind == Kind::Main);
        let messages = if is_root { habit.messages } else { 1 };
        match work {
            Work::Fresh | Work::Boundary | Work::Answered { text: false } => {
                self.must(Input::Report(run, Report::Boundary(Point::Between)));
                self.must(Input::Report(run, begin(FREE)));
            }
            Work::Asking(_) if seen.messages.get(&run.task).is_none_or(|written| *written < messages) => {
                *seen.messages.entry(run.task).or_default() += 1;
                let width = if habit.always { habit.width } else { self.dice.below(habit.width + 1) };
                let mut content: Vec<Block> = (0..width).map(|n| call(&format!("c{n}"))).collect();
                content.push(say("on it"));
                self.must(Input::Report(run, answer(turn, content, Cost::ZERO)));
            }
            Work::Asking(_) => self.must(Input::Report(run, answer(turn, vec![say("done")], Cost::ZERO))),
            Work::Acting(calls) => {
                let calls: Vec<_> = calls.into_iter().collect();
                match self.dice.pick(&calls) {
                    Some((call, CallPhase::Pending)) => self.plant(run, turn, call, habit, seen),
                    Some((call, CallPhase::Waited { .. } | CallPhase::Started)) => {
                        self.must(Input::Report(run, answered(turn, call)));
                    }
                    Some(_) | None => {}
                }
            }
            Work::Answered { text: true } => {
                self.must(Input::Report(run, Report::Boundary(Point::End)));
                let ended = Report::Ended { ending: Ending::Completed, text: "done".into() };
                self.must(Input::Report(run, ended));
            }
        }
    }

    fn plant(&mut self, run: Run, turn: Turn, call: CallId, habit: &Habit, seen: &mut Seen) {
        let at_root = Some(run.task) == self.kernel.root();
        let mode = if habit.background && at_root { Mode::Background } else { Mode::Sync };
        let spec =
            TaskSpec { budget: Budget::default(), max_turns: None, ..self.spec(Kind::Agent, mode, Rest::Finish, None) };
        let (id, prompt, by) = (self.new_id(), "go".into(), Some((run, turn, call.clone())));
        let spawn = Spawn { id, spec, prompt, by, until: None, definition: None };
        if let Some(refusal) = self.may(Input::Spawn(spawn)) {
            self.audit.refused(&self.limits, self.now, run.task, &refusal);
            *seen.refusals.entry(refusal.to_string()).or_default() += 1;
            self.must(Input::Report(run, answered(turn, call)));
        }
    }
}

/// A session without a budget or a limit of turns.
fn world(seed: u64, limits: Limits) -> World {
    with_budget(seed, limits, Budget::default())
}

fn with_budget(seed: u64, limits: Limits, budget: Budget) -> World {
    let mut world = World::with_limits(seed, limits);
    world.terms = Terms { max_turns: None, budget, ..world.terms.clone() };
    world.the_owner_dies();
    world
}

fn wide() -> Limits {
    Limits { live: 64, depth: 4, total: 100_000, rate: 100_000, ..Limits::default() }
}

fn refused(seen: &Seen, words: &str) -> bool {
    seen.refusals.keys().any(|refusal| refusal.contains(words))
}

#[test]
fn t5_a_tree_that_always_spawns_five_stops_exactly_at_the_total() {
    in_parallel(0..4, |seed| {
        let mut world = world(seed, Limits { total: 200, ..wide() });
        let seen = world.grow(&FIVE);
        assert_eq!((world.kernel.started(), seen.most), (200, 64));
        assert!(refused(&seen, "which is all it may"));
    });
}

#[test]
fn t5_a_tree_that_always_spawns_five_stops_exactly_at_the_depth() {
    in_parallel(0..4, |seed| {
        let mut world = world(seed, Limits { depth: 2, ..wide() });
        let seen = world.grow(&Habit { messages: 2, ..FIVE });
        assert_eq!(world.kernel.started(), 10 + 50);
        assert_eq!(seen.refusals.values().sum::<u32>(), 50 * 5, "{:?}", seen.refusals);
        assert!(refused(&seen, "nested 2 deep"));
    });
}

#[test]
fn t5_a_tree_that_always_spawns_five_stops_exactly_at_the_rate() {
    in_parallel(0..4, |seed| {
        let mut world = world(seed, Limits { depth: 3, rate: 37, ..wide() });
        let seen = world.grow(&FIVE);
        assert_eq!(world.kernel.started(), 40 + 37);
        assert!(refused(&seen, "within a minute"));
        let root = world.kernel.root().unwrap();
        world.now = At(world.now.0 + 60_000);
        world.must(user_mail(root, Delivery::Steer));
        world.grow(&FIVE);
        assert_eq!(world.kernel.started(), 2 * (40 + 37));
    });
}

#[test]
fn t5_a_tree_that_always_spawns_five_runs_as_many_as_may_and_no_more() {
    in_parallel(0..4, |seed| {
        let of_type = BTreeMap::from([("build".to_owned(), 2), ("look".to_owned(), 1)]);
        let mut world = world(seed, Limits { live: 7, depth: 3, total: 200, of_type, ..wide() });
        let seen = world.grow(&FIVE);
        assert_eq!((world.kernel.started(), seen.most), (200, 7));
        checks::at_rest(&world.kernel);
    });
}

/// A random tree whose parents wait for their children finishes, whatever the order.
fn finishes(seed: u64, depth: u32, of_type: BTreeMap<String, u32>) {
    let limits = Limits { live: 1, depth, total: 120, rate: 1_000, of_type, ..Limits::default() };
    let mut world = world(seed, limits);
    world.grow(&WAITING);
    checks::at_rest(&world.kernel);
    let done = |task: &Task| matches!(task.phase, Phase::Finished(Outcome::Completed));
    assert!(world.kernel.tasks().filter(|task| task.kind == Kind::Agent).all(done));
}

fn one_of_each() -> BTreeMap<String, u32> {
    ["build", "look", "think"].into_iter().map(|kind| (kind.to_owned(), 1)).collect()
}

#[test]
fn a_live_cap_of_one_never_deadlocks_trees_four_and_six_deep() {
    in_parallel(0..100, |seed| {
        finishes(seed, 4, BTreeMap::new());
        finishes(seed, 6, BTreeMap::new());
    });
}

#[test]
fn caps_of_one_on_every_type_never_deadlock_trees_either() {
    in_parallel(0..100, |seed| {
        finishes(seed, 4, one_of_each());
        let limits = Limits { live: 3, depth: 6, total: 120, of_type: one_of_each(), ..Limits::default() };
        let mut world = world(seed, limits);
        world.must(Input::Memory(if seed % 2 == 0 { Memory::Tight } else { Memory::Ample }));
        world.grow(&WAITING);
        checks::at_rest(&world.kernel);
    });
}

#[test]
fn a_quota_parks_everybody_and_everybody_resumes() {
    in_parallel(0..20, |seed| {
        let mut world = world(seed, Limits { live: 4, depth: 2, ..wide() });
        let root = *world.active.values().next().unwrap();
        world.must(Input::Report(root, begin(FREE)));
        let five = (0..5).map(|n| call(&format!("c{n}"))).collect();
        world.must(Input::Report(root, answer(Turn(1), five, Cost::ZERO)));
        for n in 0..5 {
            let call = CallId(format!("c{n}"));
            world.plant(root, Turn(1), call, &FIVE, &mut Seen::default());
        }
        let until = At(world.now.0 + 5_000);
        while let Some(run) = world.active.values().next_back().copied() {
            world.must(Input::Report(run, Report::Park(parking(until))));
        }
        assert!(world.kernel.tasks().all(|task| task.phase == Phase::Parked(parking(until))));
        assert_eq!(world.kernel.alarm(), Some(until));
        assert_eq!(world.kernel.parked(), Some(parking(until)));
        if seed % 2 == 0 {
            world.the_owner_dies();
        }
        world.now = until;
        world.tick();
        world.grow(&Habit { messages: 1, ..FIVE });
        checks::at_rest(&world.kernel);
        assert!(world.kernel.started() > 5);
    });
}

#[test]
fn x5_a_budget_that_is_enough_starves_nobody_though_most_of_it_is_set_aside() {
    in_parallel(0..40, |seed| {
        let (agents, turns, set_aside, used) = (40, 3, 100, 10);
        let quote =
            Quote { input: set_aside, estimated: 0, least: 0, expected: 0, most: 0, price: None, spare: Cost::ZERO };
        let tokens = Some(agents * turns * used + set_aside - used);
        let mut world = with_budget(seed, wide(), Budget { tokens, micros: None });
        for _ in 0..agents {
            let spec = TaskSpec { budget: Budget::default(), ..TaskSpec::new(Kind::Agent, "think", "n") };
            let id = world.new_id();
            world.must(Input::Spawn(Spawn { id, spec, prompt: "go".into(), by: None, until: None, definition: None }));
        }
        let mut held = 0;
        loop {
            let agent = |run: &Run| Some(run.task) != world.kernel.root();
            let runs: Vec<Run> = world.active.values().copied().filter(agent).collect();
            let Some(run) = world.dice.pick(&runs) else { break };
            let task = world.kernel.task(run.task).unwrap();
            match (task.work.clone(), u64::from(task.turns) == turns) {
                (Work::Asking(_), _) => {
                    let (turn, cost) = (task.turn, Cost { tokens: used, micros: 0 });
                    world.must(Input::Report(run, answer(turn, vec![say("so")], cost)));
                }
                (_, true) => {
                    world.must(Input::Report(run, Report::Boundary(Point::End)));
                    world.must(Input::Report(run, Report::Ended { ending: Ending::Completed, text: String::new() }));
                }
                (_, false) => match world.may(Input::Report(run, begin(quote))) {
                    Some(Refusal::BudgetHeld { .. }) => held += 1,
                    Some(refusal) => panic!("{refusal}"),
                    None => {}
                },
            }
        }
        assert!(held > 0, "nothing was ever set aside for others");
        let root = world.kernel.root().unwrap();
        assert_eq!(world.kernel.task(root).unwrap().ledger.spent.tokens, agents * turns * used);
    });
}
