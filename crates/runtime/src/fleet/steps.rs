//! What a fleet does next: one pure decision, made anew whenever something happened.

use kernel::{Kernel, TaskPhase, TodoProgress};
use protocol::{FleetConfig, TaskId, TodoId};

use super::FleetLimit;
use super::history::PastFleet;

/// What a decision is made on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FleetSnapshot {
    /// How the fleet works; none when it was ended.
    pub(super) terms: Option<FleetConfig>,
    /// Whether the main agent rests. While it works, its plan may be half written.
    pub(super) root_is_idle: bool,
    /// What workers should be started for now.
    pub(super) due: Vec<TodoId>,
    /// Whether anything is ready, be there room for it or not.
    pub(super) has_ready: bool,
    /// Whether anything is held.
    pub(super) has_claimed: bool,
}

impl FleetSnapshot {
    pub(super) fn take(kernel: &Kernel, root: TaskId, usual: &str) -> FleetSnapshot {
        let graph = kernel.graph();
        FleetSnapshot {
            terms: graph.fleet().cloned(),
            root_is_idle: kernel.task(root).is_some_and(|task| task.phase == TaskPhase::Idle && task.inbox.is_empty()),
            due: kernel.due_todos(usual),
            has_ready: graph.ready().next().is_some(),
            has_claimed: graph.claimed() > 0,
        }
    }
}

/// What the driver itself knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DriverState {
    /// Whether the plan was looked at since the main agent last changed it.
    pub(super) plan_judged: bool,
    /// The limit that was reached.
    pub(super) limit: Option<FleetLimit>,
}

/// What a fleet does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FleetStep {
    /// Nothing, until something happens.
    Wait,
    /// Ask for a plan.
    Plan,
    /// Look at the plan.
    Judge,
    /// Start workers for these.
    Dispatch(Vec<TodoId>),
    /// Show the main agent the outcome.
    Review,
    /// Bring the work together and end.
    Finish,
    /// End, since a limit is reached.
    Halt(FleetLimit),
    /// It was ended.
    Over,
}

/// Decides what comes next.
pub(super) fn next_step(seen: FleetSnapshot, past: &PastFleet, own: DriverState) -> FleetStep {
    let held = seen.has_claimed;
    match (own.limit, step_without_limit(seen, past, own)) {
        // Nothing new begins; what is held comes to its end first.
        (Some(_), FleetStep::Plan | FleetStep::Judge | FleetStep::Dispatch(_) | FleetStep::Review) if held => {
            FleetStep::Wait
        }
        (Some(halt), FleetStep::Plan | FleetStep::Judge | FleetStep::Dispatch(_) | FleetStep::Review) => {
            FleetStep::Halt(halt)
        }
        (_, step) => step,
    }
}

fn step_without_limit(seen: FleetSnapshot, past: &PastFleet, own: DriverState) -> FleetStep {
    let Some(terms) = seen.terms else { return FleetStep::Over };
    if !seen.root_is_idle {
        return FleetStep::Wait;
    }
    if terms.plan.is_none() && past.plan_requests == 0 {
        return FleetStep::Plan;
    }
    if !own.plan_judged {
        return FleetStep::Judge;
    }
    if !seen.due.is_empty() {
        return FleetStep::Dispatch(seen.due);
    }
    if seen.has_claimed || seen.has_ready {
        return FleetStep::Wait;
    }
    let changed = past.worked || past.reviews == 0;
    if changed && past.reviews < terms.rounds { FleetStep::Review } else { FleetStep::Finish }
}

/// What is left, once nothing moves any more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OpenTodos {
    /// How many are not done.
    pub(super) open: usize,
    /// What can never be ready as things are, with why.
    pub(super) stuck: Vec<(TodoId, String)>,
}

impl OpenTodos {
    pub(super) fn take(kernel: &Kernel) -> OpenTodos {
        let graph = kernel.graph();
        let mut stock = OpenTodos::default();
        let cycle = graph.cycle();
        for (id, node) in graph.nodes() {
            match &node.progress {
                TodoProgress::Done => {}
                TodoProgress::Pending => {
                    stock.open += 1;
                    let missing = node.depends_on.iter().find(|above| graph.node(above).is_none());
                    let circle = cycle.as_ref().filter(|path| path.contains(id));
                    let why = match (circle, missing) {
                        (Some(path), _) => Some(format!("it depends on itself: {}", protocol::format_cycle(path))),
                        (None, Some(above)) => Some(format!("it depends on `{above}`, and there is no such todo")),
                        (None, None) => None,
                    };
                    stock.stuck.extend(why.map(|why| (id.clone(), why)));
                }
                TodoProgress::Reported | TodoProgress::Claimed { .. } | TodoProgress::Blocked(_) => stock.open += 1,
            }
        }
        stock
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

    const JUDGED: DriverState = DriverState { plan_judged: true, limit: None };

    fn planned() -> PastFleet {
        PastFleet { plan_requests: 1, ..PastFleet::default() }
    }

    #[test]
    fn a_fleet_plans_works_looks_and_ends() {
        let due = || FleetSnapshot { due: vec!["a".into()], has_ready: true, ..seen() };
        assert_eq!(next_step(seen(), &PastFleet::default(), JUDGED), FleetStep::Plan);
        assert_eq!(next_step(due(), &planned(), DriverState { plan_judged: false, limit: None }), FleetStep::Judge);
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
        assert_eq!(next_step(FleetSnapshot { terms: None, ..due() }, &planned(), JUDGED), FleetStep::Over);
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
        let halted = DriverState { plan_judged: true, limit: Some(FleetLimit::Budget) };
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
