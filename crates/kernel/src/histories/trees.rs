//! Trees of agents that spawn as much as they may: every cap holds exactly, and all agents finish.

use std::collections::BTreeMap;

use protocol::*;

use super::simulated_session::{
    FREE_QUOTE, SimulatedSession, call_answered, call_block, quota_parking, text_block, turn_answered, turn_begun,
    user_mail,
};
use super::{checks, in_parallel};
use crate::*;

/// How the agents of a tree behave.
struct AgentBehavior {
    /// How many children a message starts, at most.
    width: u64,
    /// Whether it starts exactly as many.
    always: bool,
    /// How many such messages the root writes; every other agent writes one.
    messages: u32,
    /// Whether the root works on while its children do.
    background: bool,
    /// One step in how many is the owner's last.
    deaths: Option<u64>,
}

const FIVE: AgentBehavior = AgentBehavior { width: 5, always: true, messages: 8, background: true, deaths: Some(150) };
const WAITING: AgentBehavior =
    AgentBehavior { width: 3, always: false, messages: 2, background: false, deaths: Some(100) };

/// What was refused, by its words, who has written how many messages, and the most agents that ran at once.
#[derive(Default)]
struct TreeStats {
    messages: BTreeMap<TaskId, u32>,
    refusals: BTreeMap<String, u32>,
    most: u32,
}

impl SimulatedSession {
    /// Lets every run follow its habit in random order until nothing is left to do. At least one can always work.
    fn run_to_rest(&mut self, habit: &AgentBehavior) -> TreeStats {
        let mut seen = TreeStats::default();
        loop {
            let workable: Vec<RunId> = self.active.values().copied().filter(|run| self.can_work(*run)).collect();
            let Some(run) = self.rng.pick(&workable) else { break };
            self.behave(run, habit, &mut seen);
            seen.most = seen.most.max(self.kernel.state.slots.held);
            if habit.deaths.is_some_and(|deaths| self.rng.one_in(deaths)) {
                self.replace_dead_owner();
            }
        }
        assert!(self.kernel.is_quiet(), "nobody can work and somebody waits");
        seen
    }

    fn behave(&mut self, run: RunId, habit: &AgentBehavior, seen: &mut TreeStats) {
        let task = self.kernel.task(run.task).unwrap();
        let (turn, work, is_root) = (task.turn, task.work.clone(), task.kind == TaskType::Main);
        let messages = if is_root { habit.messages } else { 1 };
        match work {
            ActivationWork::Fresh | ActivationWork::Boundary | ActivationWork::Answered { text: false } => {
                self.apply_accepted(KernelInput::Report(run, RunUpdate::Boundary(BoundaryPoint::Between)));
                self.apply_accepted(KernelInput::Report(run, turn_begun(FREE_QUOTE)));
            }
            ActivationWork::Asking(_) if seen.messages.get(&run.task).is_none_or(|written| *written < messages) => {
                *seen.messages.entry(run.task).or_default() += 1;
                let width = if habit.always { habit.width } else { self.rng.below(habit.width + 1) };
                let mut content: Vec<ContentBlock> = (0..width).map(|n| call_block(&format!("c{n}"))).collect();
                content.push(text_block("on it"));
                self.apply_accepted(KernelInput::Report(run, turn_answered(turn, content, Cost::ZERO)));
            }
            ActivationWork::Asking(_) => {
                self.apply_accepted(KernelInput::Report(run, turn_answered(turn, vec![text_block("done")], Cost::ZERO)))
            }
            ActivationWork::Acting(calls) => {
                let calls: Vec<_> = calls.into_iter().collect();
                match self.rng.pick(&calls) {
                    Some((call, CallPhase::Pending)) => self.spawn_children(run, turn, call, habit, seen),
                    Some((call, CallPhase::Waited { .. } | CallPhase::Started)) => {
                        self.apply_accepted(KernelInput::Report(run, call_answered(turn, call)));
                    }
                    Some(_) | None => {}
                }
            }
            ActivationWork::Answered { text: true } => {
                self.apply_accepted(KernelInput::Report(run, RunUpdate::Boundary(BoundaryPoint::End)));
                let ended = RunUpdate::Ended { ending: RunEnding::Completed, text: "done".into() };
                self.apply_accepted(KernelInput::Report(run, ended));
            }
        }
    }

    fn spawn_children(&mut self, run: RunId, turn: Turn, call: CallId, habit: &AgentBehavior, seen: &mut TreeStats) {
        let at_root = Some(run.task) == self.kernel.root();
        let mode = if habit.background && at_root { TaskMode::Background } else { TaskMode::Sync };
        let spec = TaskSpec {
            budget: Budget::default(),
            max_turns: None,
            ..self.spec(TaskType::Agent, mode, CompletionPolicy::Finish, None)
        };
        let (id, prompt, by) = (self.new_id(), "go".into(), Some((run, turn, call.clone())));
        let spawn = TaskSpawn { id, spec, prompt, by, until: None, definition: None };
        if let Some(refusal) = self.try_apply(KernelInput::Spawn(spawn)) {
            self.audit.refused(&self.limits, self.now, run.task, &refusal);
            *seen.refusals.entry(refusal.to_string()).or_default() += 1;
            self.apply_accepted(KernelInput::Report(run, call_answered(turn, call)));
        }
    }
}

/// A session without a budget or a limit of turns.
fn world(seed: u64, limits: SessionLimits) -> SimulatedSession {
    with_budget(seed, limits, Budget::default())
}

fn with_budget(seed: u64, limits: SessionLimits, budget: Budget) -> SimulatedSession {
    let mut world = SimulatedSession::with_limits(seed, limits);
    world.config = SessionConfig { max_turns: None, budget, ..world.config.clone() };
    world.replace_dead_owner();
    world
}

fn wide() -> SessionLimits {
    SessionLimits { live: 64, depth: 4, total: 100_000, rate: 100_000, ..SessionLimits::default() }
}

fn refused(seen: &TreeStats, words: &str) -> bool {
    seen.refusals.keys().any(|refusal| refusal.contains(words))
}

#[test]
fn a_tree_that_always_spawns_five_stops_exactly_at_the_total() {
    in_parallel(0..4, |seed| {
        let mut world = world(seed, SessionLimits { total: 200, ..wide() });
        let seen = world.run_to_rest(&FIVE);
        assert_eq!((world.kernel.started_agents(), seen.most), (200, 64));
        assert!(refused(&seen, "reached its limit of"));
    });
}

#[test]
fn a_tree_that_always_spawns_five_stops_exactly_at_the_depth() {
    in_parallel(0..4, |seed| {
        let mut world = world(seed, SessionLimits { depth: 2, ..wide() });
        let seen = world.run_to_rest(&AgentBehavior { messages: 2, ..FIVE });
        assert_eq!(world.kernel.started_agents(), 10 + 50);
        assert_eq!(seen.refusals.values().sum::<u32>(), 50 * 5, "{:?}", seen.refusals);
        assert!(refused(&seen, "nested more than 2 deep"));
    });
}

#[test]
fn a_tree_that_always_spawns_five_stops_exactly_at_the_rate() {
    in_parallel(0..4, |seed| {
        let mut world = world(seed, SessionLimits { depth: 3, rate: 37, ..wide() });
        let seen = world.run_to_rest(&FIVE);
        assert_eq!(world.kernel.started_agents(), 40 + 37);
        assert!(refused(&seen, "within a minute"));
        let root = world.kernel.root().unwrap();
        world.now = Timestamp(world.now.0 + 60_000);
        world.apply_accepted(user_mail(root, MailDelivery::Steer));
        world.run_to_rest(&FIVE);
        assert_eq!(world.kernel.started_agents(), 2 * (40 + 37));
    });
}

#[test]
fn a_tree_that_always_spawns_five_runs_as_many_as_may_and_no_more() {
    in_parallel(0..4, |seed| {
        let of_type = BTreeMap::from([("build".to_owned(), 2), ("look".to_owned(), 1)]);
        let mut world = world(seed, SessionLimits { live: 7, depth: 3, total: 200, of_type, ..wide() });
        let seen = world.run_to_rest(&FIVE);
        assert_eq!((world.kernel.started_agents(), seen.most), (200, 7));
        checks::at_rest(&world.kernel);
    });
}

/// A random tree whose parents wait for their children finishes, whatever the order.
fn finishes(seed: u64, depth: u32, of_type: BTreeMap<String, u32>) {
    let limits = SessionLimits { live: 1, depth, total: 120, rate: 1_000, of_type, ..SessionLimits::default() };
    let mut world = world(seed, limits);
    world.run_to_rest(&WAITING);
    checks::at_rest(&world.kernel);
    let done = |task: &KernelTask| matches!(task.phase, TaskPhase::Finished(TaskOutcome::Completed));
    assert!(world.kernel.tasks().filter(|task| task.kind == TaskType::Agent).all(done));
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
        let limits =
            SessionLimits { live: 3, depth: 6, total: 120, of_type: one_of_each(), ..SessionLimits::default() };
        let mut world = world(seed, limits);
        world.apply_accepted(KernelInput::Memory(if seed % 2 == 0 {
            MemoryPressure::Tight
        } else {
            MemoryPressure::Ample
        }));
        world.run_to_rest(&WAITING);
        checks::at_rest(&world.kernel);
    });
}

#[test]
fn a_quota_parks_everybody_and_everybody_resumes() {
    in_parallel(0..20, |seed| {
        let mut world = world(seed, SessionLimits { live: 4, depth: 2, ..wide() });
        let root = *world.active.values().next().unwrap();
        world.apply_accepted(KernelInput::Report(root, turn_begun(FREE_QUOTE)));
        let five = (0..5).map(|n| call_block(&format!("c{n}"))).collect();
        world.apply_accepted(KernelInput::Report(root, turn_answered(Turn(1), five, Cost::ZERO)));
        for n in 0..5 {
            let call = CallId(format!("c{n}"));
            world.spawn_children(root, Turn(1), call, &FIVE, &mut TreeStats::default());
        }
        let until = Timestamp(world.now.0 + 5_000);
        while let Some(run) = world.active.values().next_back().copied() {
            world.apply_accepted(KernelInput::Report(run, RunUpdate::Park(quota_parking(until))));
        }
        assert!(world.kernel.tasks().all(|task| task.phase == TaskPhase::Parked(quota_parking(until))));
        assert_eq!(world.kernel.next_alarm(), Some(until));
        assert_eq!(world.kernel.parked(), Some(quota_parking(until)));
        if seed % 2 == 0 {
            world.replace_dead_owner();
        }
        world.now = until;
        world.tick();
        world.run_to_rest(&AgentBehavior { messages: 1, ..FIVE });
        checks::at_rest(&world.kernel);
        assert!(world.kernel.started_agents() > 5);
    });
}

#[test]
fn a_budget_that_is_enough_starves_nobody_though_most_of_it_is_set_aside() {
    in_parallel(0..40, |seed| {
        let (agents, turns, set_aside, used) = (40, 3, 100, 10);
        let quote = TurnQuote {
            input: set_aside,
            estimated: 0,
            min_output: 0,
            expected: 0,
            max_output: 0,
            price: None,
            last_turn_reserve: Cost::ZERO,
        };
        let tokens = Some(agents * turns * used + set_aside - used);
        let mut world = with_budget(seed, wide(), Budget { tokens, micros: None });
        for _ in 0..agents {
            let spec = TaskSpec { budget: Budget::default(), ..TaskSpec::new(TaskType::Agent, "think", "n") };
            let id = world.new_id();
            world.apply_accepted(KernelInput::Spawn(TaskSpawn {
                id,
                spec,
                prompt: "go".into(),
                by: None,
                until: None,
                definition: None,
            }));
        }
        let mut held = 0;
        loop {
            let agent = |run: &RunId| Some(run.task) != world.kernel.root();
            let runs: Vec<RunId> = world.active.values().copied().filter(agent).collect();
            let Some(run) = world.rng.pick(&runs) else { break };
            let task = world.kernel.task(run.task).unwrap();
            match (task.work.clone(), u64::from(task.turns) == turns) {
                (ActivationWork::Asking(_), _) => {
                    let (turn, cost) = (task.turn, Cost { tokens: used, micros: 0 });
                    world.apply_accepted(KernelInput::Report(run, turn_answered(turn, vec![text_block("so")], cost)));
                }
                (_, true) => {
                    world.apply_accepted(KernelInput::Report(run, RunUpdate::Boundary(BoundaryPoint::End)));
                    world.apply_accepted(KernelInput::Report(
                        run,
                        RunUpdate::Ended { ending: RunEnding::Completed, text: String::new() },
                    ));
                }
                (_, false) => match world.try_apply(KernelInput::Report(run, turn_begun(quote))) {
                    Some(InputRefusal::BudgetHeld { .. }) => held += 1,
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
