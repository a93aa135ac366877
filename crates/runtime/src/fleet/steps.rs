//! The next step of a fleet: a pure decision, made anew after every event.

use kernel::{Kernel, TaskPhase, TodoProgress};
use protocol::{FleetConfig, TaskId, TodoId};

use super::FleetLimit;
use super::history::PastFleet;

/// The state that a decision is based on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FleetSnapshot {
    /// The fleet's settings; `None` when it has ended.
    pub(super) terms: Option<FleetConfig>,
    /// Whether the main agent is idle. While it works, its plan may be half written.
    pub(super) root_is_idle: bool,
    /// The todos for which workers should start now.
    pub(super) due: Vec<TodoId>,
    /// Whether any todo is ready, even if there is no room for its worker.
    pub(super) has_ready: bool,
    /// Whether any todo is claimed.
    pub(super) has_claimed: bool,
}

impl FleetSnapshot {
    pub(super) fn take(kernel: &Kernel, root: TaskId, default_agent: &str) -> FleetSnapshot {
        let graph = kernel.graph();
        FleetSnapshot {
            terms: graph.fleet().cloned(),
            root_is_idle: kernel.task(root).is_some_and(|task| task.phase == TaskPhase::Idle && task.inbox.is_empty()),
            due: kernel.due_todos(default_agent),
            has_ready: graph.ready().next().is_some(),
            has_claimed: graph.claimed() > 0,
        }
    }
}

/// The driver's own state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DriverState {
    /// Whether the plan was checked since the main agent last changed it.
    pub(super) plan_checked: bool,
    /// The limit that was reached.
    pub(super) limit: Option<FleetLimit>,
}

/// The next step of a fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FleetStep {
    /// Wait for an event.
    Wait,
    /// Ask for a plan.
    Plan,
    /// Check the plan.
    CheckPlan,
    /// Start workers for these.
    Dispatch(Vec<TodoId>),
    /// Show the main agent the outcome.
    Review,
    /// Collect the work and end.
    Finish,
    /// End, because a limit is reached.
    Halt(FleetLimit),
    /// The fleet has ended.
    Ended,
}

/// Decides the next step.
pub(super) fn next_step(snapshot: FleetSnapshot, past: &PastFleet, state: DriverState) -> FleetStep {
    let claimed = snapshot.has_claimed;
    match (state.limit, step_without_limit(snapshot, past, state)) {
        // Nothing new starts; claimed todos come to their end first.
        (Some(_), FleetStep::Plan | FleetStep::CheckPlan | FleetStep::Dispatch(_) | FleetStep::Review) if claimed => {
            FleetStep::Wait
        }
        (Some(halt), FleetStep::Plan | FleetStep::CheckPlan | FleetStep::Dispatch(_) | FleetStep::Review) => {
            FleetStep::Halt(halt)
        }
        (_, step) => step,
    }
}

fn step_without_limit(snapshot: FleetSnapshot, past: &PastFleet, state: DriverState) -> FleetStep {
    let Some(terms) = snapshot.terms else { return FleetStep::Ended };
    if !snapshot.root_is_idle {
        return FleetStep::Wait;
    }
    if terms.plan.is_none() && past.plan_requests == 0 {
        return FleetStep::Plan;
    }
    if !state.plan_checked {
        return FleetStep::CheckPlan;
    }
    if !snapshot.due.is_empty() {
        return FleetStep::Dispatch(snapshot.due);
    }
    if snapshot.has_claimed || snapshot.has_ready {
        return FleetStep::Wait;
    }
    let changed = past.worked || past.reviews == 0;
    if changed && past.reviews < terms.rounds { FleetStep::Review } else { FleetStep::Finish }
}

/// The todos that are left when no step remains.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OpenTodos {
    /// The number of todos that are not done.
    pub(super) open: usize,
    /// Todos that can never be ready, each with the reason.
    pub(super) stuck: Vec<(TodoId, String)>,
}

impl OpenTodos {
    pub(super) fn take(kernel: &Kernel) -> OpenTodos {
        let graph = kernel.graph();
        let mut todos = OpenTodos::default();
        let cycle = graph.cycle();
        for (id, node) in graph.nodes() {
            match &node.progress {
                TodoProgress::Done => {}
                TodoProgress::Pending => {
                    todos.open += 1;
                    let missing = node.depends_on.iter().find(|above| graph.node(above).is_none());
                    let circle = cycle.as_ref().filter(|path| path.contains(id));
                    let why = match (circle, missing) {
                        (Some(path), _) => Some(format!("it depends on itself: {}", protocol::format_cycle(path))),
                        (None, Some(above)) => Some(format!("it depends on `{above}`, which does not exist")),
                        (None, None) => None,
                    };
                    todos.stuck.extend(why.map(|why| (id.clone(), why)));
                }
                TodoProgress::Reported | TodoProgress::Claimed { .. } | TodoProgress::Blocked(_) => todos.open += 1,
            }
        }
        todos
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> FleetSnapshot {
        let terms = FleetConfig {
            goal: "all".into(),
            agent: None,
            parallel: None,
            retries: 1,
            rounds: 2,
            isolated: false,
            dirty: false,
            merge: false,
            check: None,
            plan: None,
        };
        FleetSnapshot { terms: Some(terms), root_is_idle: true, due: Vec::new(), has_ready: false, has_claimed: false }
    }

    const JUDGED: DriverState = DriverState { plan_checked: true, limit: None };

    fn planned() -> PastFleet {
        PastFleet { plan_requests: 1, ..PastFleet::default() }
    }

    #[test]
    fn a_fleet_plans_works_looks_and_ends() {
        let due = || FleetSnapshot { due: vec!["a".into()], has_ready: true, ..seen() };
        assert_eq!(next_step(seen(), &PastFleet::default(), JUDGED), FleetStep::Plan);
        assert_eq!(
            next_step(due(), &planned(), DriverState { plan_checked: false, limit: None }),
            FleetStep::CheckPlan
        );
        assert_eq!(next_step(due(), &planned(), JUDGED), FleetStep::Dispatch(vec!["a".into()]));
        assert_eq!(next_step(FleetSnapshot { has_claimed: true, ..seen() }, &planned(), JUDGED), FleetStep::Wait);
        assert_eq!(
            next_step(FleetSnapshot { has_ready: true, ..seen() }, &planned(), JUDGED),
            FleetStep::Wait,
            "there is no room"
        );
        assert_eq!(next_step(seen(), &planned(), JUDGED), FleetStep::Review);
        let reviewed = |worked| PastFleet { plan_requests: 1, reviews: 1, worked, ..PastFleet::default() };
        assert_eq!(next_step(seen(), &reviewed(true), JUDGED), FleetStep::Review);
        assert_eq!(next_step(seen(), &reviewed(false), JUDGED), FleetStep::Finish, "nothing new was planned");
        assert_eq!(next_step(seen(), &PastFleet { reviews: 2, ..reviewed(true) }, JUDGED), FleetStep::Finish);
        assert_eq!(next_step(FleetSnapshot { terms: None, ..due() }, &planned(), JUDGED), FleetStep::Ended);
    }

    #[test]
    fn nothing_begins_while_the_plan_may_be_half_written() {
        let busy = FleetSnapshot { root_is_idle: false, due: vec!["a".into()], has_ready: true, ..seen() };
        for past in [PastFleet::default(), planned()] {
            assert_eq!(next_step(busy.clone(), &past, JUDGED), FleetStep::Wait);
        }
    }

    #[test]
    fn after_a_limit_nothing_begins_and_what_is_held_ends_first() {
        let halted = DriverState { plan_checked: true, limit: Some(FleetLimit::Budget) };
        let due = FleetSnapshot { due: vec!["a".into()], has_ready: true, ..seen() };
        assert_eq!(next_step(FleetSnapshot { has_claimed: true, ..due.clone() }, &planned(), halted), FleetStep::Wait);
        assert_eq!(next_step(due, &planned(), halted), FleetStep::Halt(FleetLimit::Budget));
        assert_eq!(
            next_step(seen(), &planned(), halted),
            FleetStep::Halt(FleetLimit::Budget),
            "a review would be work"
        );
        let mut last = seen();
        last.terms.as_mut().unwrap().rounds = 0;
        assert_eq!(next_step(last, &planned(), halted), FleetStep::Finish, "everything is where it can be");
    }
}
