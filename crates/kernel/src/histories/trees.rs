//! Tests with trees of agents that start as many subagents as the limits allow: no limit is exceeded, and all agents
//! finish.

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
    /// The maximum number of children that a message starts.
    max_width: u64,
    /// Whether it always starts the maximum.
    always_max_width: bool,
    /// How many such messages the root writes; every other agent writes one.
    messages: u32,
    /// Whether the root continues to work while its children do.
    background: bool,
    /// The owner dies after one in this many steps.
    owner_dies_one_in: Option<u64>,
}

const ALWAYS_FIVE_CHILDREN: AgentBehavior =
    AgentBehavior { max_width: 5, always_max_width: true, messages: 8, background: true, owner_dies_one_in: Some(150) };
const WAITING_FOR_CHILDREN: AgentBehavior = AgentBehavior {
    max_width: 3,
    always_max_width: false,
    messages: 2,
    background: false,
    owner_dies_one_in: Some(100),
};

#[derive(Default)]
struct TreeStats {
    /// How many messages each agent has written.
    messages: BTreeMap<TaskId, u32>,
    /// How often each refusal occurred, by its message.
    refusals: BTreeMap<String, u32>,
    /// The maximum number of agents that ran at once.
    max_running: u32,
}

impl SimulatedSession {
    /// Lets all runs work in random order until nothing is left to do. At least one can always work.
    fn run_to_rest(&mut self, behavior: &AgentBehavior) -> TreeStats {
        let mut stats = TreeStats::default();
        loop {
            let workable: Vec<RunId> = self.active.values().copied().filter(|run| self.can_work(*run)).collect();
            let Some(run) = self.rng.pick(&workable) else { break };
            self.step_run(run, behavior, &mut stats);
            stats.max_running = stats.max_running.max(self.kernel.state.slots.held);
            if behavior.owner_dies_one_in.is_some_and(|deaths| self.rng.one_in(deaths)) {
                self.replace_dead_owner();
            }
        }
        assert!(self.kernel.is_quiet(), "the session is not finished, but no run can work");
        stats
    }

    fn step_run(&mut self, run: RunId, behavior: &AgentBehavior, stats: &mut TreeStats) {
        let task = self.kernel.task(run.task).unwrap();
        let (turn, work, is_root) = (task.turn, task.work.clone(), task.kind.is_root());
        let messages = if is_root { behavior.messages } else { 1 };
        match work {
            ActivationWork::NotBegun | ActivationWork::BetweenTurns | ActivationWork::Answered { text: false } => {
                self.apply_accepted(KernelInput::Report(run, RunUpdate::Boundary(BoundaryPoint::BetweenTurns)));
                self.apply_accepted(KernelInput::Report(run, turn_begun(FREE_QUOTE)));
            }
            ActivationWork::AwaitingModel(_)
                if stats.messages.get(&run.task).is_none_or(|written| *written < messages) =>
            {
                *stats.messages.entry(run.task).or_default() += 1;
                let width =
                    if behavior.always_max_width { behavior.max_width } else { self.rng.below(behavior.max_width + 1) };
                let mut content: Vec<ContentBlock> = (0..width).map(|n| call_block(&format!("c{n}"))).collect();
                content.push(text_block("on it"));
                self.apply_accepted(KernelInput::Report(run, turn_answered(turn, content, Cost::ZERO)));
            }
            ActivationWork::AwaitingModel(_) => {
                self.apply_accepted(KernelInput::Report(run, turn_answered(turn, vec![text_block("done")], Cost::ZERO)))
            }
            ActivationWork::CallingTools(calls) => {
                let calls: Vec<_> = calls.into_iter().collect();
                match self.rng.pick(&calls) {
                    Some((call, CallPhase::Pending)) => self.spawn_child(run, turn, call, behavior, stats),
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

    fn spawn_child(&mut self, run: RunId, turn: Turn, call: CallId, behavior: &AgentBehavior, stats: &mut TreeStats) {
        let at_root = Some(run.task) == self.kernel.root();
        let mode = if behavior.background && at_root { TaskMode::Background } else { TaskMode::Sync };
        let spec = TaskSpec {
            budget: Budget::default(),
            max_turns: None,
            ..self.random_spec(TaskType::Agent, mode, CompletionPolicy::Finish, None)
        };
        let (id, prompt, by) = (self.new_id(), "go".into(), Some((run, turn, call.clone())));
        let spawn = TaskSpawn { id, spec, prompt, by, until: None, definition: None, redo_reason: None };
        if let Some(refusal) = self.try_apply(KernelInput::Spawn(spawn)) {
            self.audit.check_spawn_refusal(&self.limits, self.now, run.task, &refusal);
            *stats.refusals.entry(refusal.to_string()).or_default() += 1;
            self.apply_accepted(KernelInput::Report(run, call_answered(turn, call)));
        }
    }
}

/// A session without a budget or a turn limit.
fn session(seed: u64, limits: SessionLimits) -> SimulatedSession {
    with_budget(seed, limits, Budget::default())
}

fn with_budget(seed: u64, limits: SessionLimits, budget: Budget) -> SimulatedSession {
    let mut session = SimulatedSession::with_limits(seed, limits);
    session.config = SessionConfig { max_turns: None, budget, ..session.config.clone() };
    session.replace_dead_owner();
    session
}

fn wide_limits() -> SessionLimits {
    SessionLimits { live: 64, depth: 4, total: 100_000, rate: 100_000, ..SessionLimits::default() }
}

fn was_refused(stats: &TreeStats, text: &str) -> bool {
    stats.refusals.keys().any(|refusal| refusal.contains(text))
}

#[test]
fn a_tree_that_always_spawns_five_stops_exactly_at_the_total() {
    in_parallel(0..4, |seed| {
        let mut session = session(seed, SessionLimits { total: 200, ..wide_limits() });
        let stats = session.run_to_rest(&ALWAYS_FIVE_CHILDREN);
        assert_eq!((session.kernel.started_agents(), stats.max_running), (200, 64));
        assert!(was_refused(&stats, "reached its limit of"));
    });
}

#[test]
fn a_tree_that_always_spawns_five_stops_exactly_at_the_depth() {
    in_parallel(0..4, |seed| {
        let mut session = session(seed, SessionLimits { depth: 2, ..wide_limits() });
        let stats = session.run_to_rest(&AgentBehavior { messages: 2, ..ALWAYS_FIVE_CHILDREN });
        assert_eq!(session.kernel.started_agents(), 10 + 50);
        assert_eq!(stats.refusals.values().sum::<u32>(), 50 * 5, "{:?}", stats.refusals);
        assert!(was_refused(&stats, "nested more than 2 deep"));
    });
}

#[test]
fn a_tree_that_always_spawns_five_stops_exactly_at_the_rate() {
    in_parallel(0..4, |seed| {
        let mut session = session(seed, SessionLimits { depth: 3, rate: 37, ..wide_limits() });
        let stats = session.run_to_rest(&ALWAYS_FIVE_CHILDREN);
        assert_eq!(session.kernel.started_agents(), 40 + 37);
        assert!(was_refused(&stats, "within a minute"));
        let root = session.kernel.root().unwrap();
        session.now = Timestamp(session.now.0 + 60_000);
        session.apply_accepted(user_mail(root, MailDelivery::Steer));
        session.run_to_rest(&ALWAYS_FIVE_CHILDREN);
        assert_eq!(session.kernel.started_agents(), 2 * (40 + 37));
    });
}

#[test]
fn a_tree_that_always_spawns_five_runs_exactly_as_many_as_the_limits_allow() {
    in_parallel(0..4, |seed| {
        let of_type = BTreeMap::from([("build".to_owned(), 2), ("look".to_owned(), 1)]);
        let mut session =
            session(seed, SessionLimits { live: 7, depth: 3, total: 200, max_by_type: of_type, ..wide_limits() });
        let stats = session.run_to_rest(&ALWAYS_FIVE_CHILDREN);
        assert_eq!((session.kernel.started_agents(), stats.max_running), (200, 7));
        checks::assert_at_rest(&session.kernel);
    });
}

/// Checks that a random tree whose parents wait for their children finishes, in any order.
fn check_tree_finishes(seed: u64, depth: u32, of_type: BTreeMap<String, u32>) {
    let limits =
        SessionLimits { live: 1, depth, total: 120, rate: 1_000, max_by_type: of_type, ..SessionLimits::default() };
    let mut session = session(seed, limits);
    session.run_to_rest(&WAITING_FOR_CHILDREN);
    checks::assert_at_rest(&session.kernel);
    let done = |task: &KernelTask| matches!(task.phase, TaskPhase::Finished(TaskOutcome::Completed));
    assert!(session.kernel.tasks().filter(|task| task.kind.is_subagent()).all(done));
}

fn one_of_each() -> BTreeMap<String, u32> {
    ["build", "look", "think"].into_iter().map(|kind| (kind.to_owned(), 1)).collect()
}

#[test]
fn a_live_cap_of_one_never_deadlocks_trees_four_and_six_deep() {
    in_parallel(0..100, |seed| {
        check_tree_finishes(seed, 4, BTreeMap::new());
        check_tree_finishes(seed, 6, BTreeMap::new());
    });
}

#[test]
fn a_cap_of_one_on_every_type_never_deadlocks_trees() {
    in_parallel(0..100, |seed| {
        check_tree_finishes(seed, 4, one_of_each());
        let limits =
            SessionLimits { live: 3, depth: 6, total: 120, max_by_type: one_of_each(), ..SessionLimits::default() };
        let mut session = session(seed, limits);
        session.apply_accepted(KernelInput::Memory(if seed % 2 == 0 {
            MemoryPressure::Tight
        } else {
            MemoryPressure::Ample
        }));
        session.run_to_rest(&WAITING_FOR_CHILDREN);
        checks::assert_at_rest(&session.kernel);
    });
}

#[test]
fn a_quota_parks_all_agents_and_all_resume() {
    in_parallel(0..20, |seed| {
        let mut session = session(seed, SessionLimits { live: 4, depth: 2, ..wide_limits() });
        let root = *session.active.values().next().unwrap();
        session.apply_accepted(KernelInput::Report(root, turn_begun(FREE_QUOTE)));
        let five = (0..5).map(|n| call_block(&format!("c{n}"))).collect();
        session.apply_accepted(KernelInput::Report(root, turn_answered(Turn(1), five, Cost::ZERO)));
        for n in 0..5 {
            let call = CallId(format!("c{n}"));
            session.spawn_child(root, Turn(1), call, &ALWAYS_FIVE_CHILDREN, &mut TreeStats::default());
        }
        let until = Timestamp(session.now.0 + 5_000);
        while let Some(run) = session.active.values().next_back().copied() {
            session.apply_accepted(KernelInput::Report(run, RunUpdate::Park(quota_parking(until))));
        }
        assert!(session.kernel.tasks().all(|task| task.phase == TaskPhase::Parked(quota_parking(until))));
        assert_eq!(session.kernel.next_alarm(), Some(until));
        assert_eq!(session.kernel.parked(), Some(quota_parking(until)));
        if seed % 2 == 0 {
            session.replace_dead_owner();
        }
        session.now = until;
        session.tick();
        session.run_to_rest(&AgentBehavior { messages: 1, ..ALWAYS_FIVE_CHILDREN });
        checks::assert_at_rest(&session.kernel);
        assert!(session.kernel.started_agents() > 5);
    });
}

#[test]
fn a_sufficient_budget_lets_all_agents_finish_even_if_most_of_it_is_reserved() {
    in_parallel(0..40, |seed| {
        let (agents, turns, reserved, used) = (40, 3, 100, 10);
        let quote = TurnQuote {
            input: reserved,
            estimated: 0,
            min_output: 0,
            expected_output: 0,
            max_output: 0,
            price: None,
            last_turn_reserve: Cost::ZERO,
        };
        let tokens = Some(agents * turns * used + reserved - used);
        let mut session = with_budget(seed, wide_limits(), Budget { tokens, micros: None });
        for _ in 0..agents {
            let spec = TaskSpec { budget: Budget::default(), ..TaskSpec::new(TaskType::Agent, "think", "n") };
            let id = session.new_id();
            session.apply_accepted(KernelInput::Spawn(TaskSpawn {
                id,
                spec,
                prompt: "go".into(),
                by: None,
                until: None,
                definition: None,
                redo_reason: None,
            }));
        }
        let mut refused_count = 0;
        loop {
            let is_agent = |run: &RunId| Some(run.task) != session.kernel.root();
            let runs: Vec<RunId> = session.active.values().copied().filter(is_agent).collect();
            let Some(run) = session.rng.pick(&runs) else { break };
            let task = session.kernel.task(run.task).unwrap();
            match (task.work.clone(), u64::from(task.turns) == turns) {
                (ActivationWork::AwaitingModel(_), _) => {
                    let (turn, cost) = (task.turn, Cost { tokens: used, micros: 0 });
                    session.apply_accepted(KernelInput::Report(run, turn_answered(turn, vec![text_block("so")], cost)));
                }
                (_, true) => {
                    session.apply_accepted(KernelInput::Report(run, RunUpdate::Boundary(BoundaryPoint::End)));
                    session.apply_accepted(KernelInput::Report(
                        run,
                        RunUpdate::Ended { ending: RunEnding::Completed, text: String::new() },
                    ));
                }
                (_, false) => match session.try_apply(KernelInput::Report(run, turn_begun(quote))) {
                    Some(InputRefusal::BudgetHeld { .. }) => refused_count += 1,
                    Some(refusal) => panic!("{refusal}"),
                    None => {}
                },
            }
        }
        assert!(refused_count > 0, "no request was ever refused because of other reservations");
        let root = session.kernel.root().unwrap();
        assert_eq!(session.kernel.task(root).unwrap().ledger.spent.tokens, agents * turns * used);
    });
}
