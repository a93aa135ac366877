//! The next step of a fleet: a pure decision, made again after every event.

use kernel::{Kernel, TaskPhase, TodoProgress};
use protocol::{FleetConfig, TaskId, TodoId};
use runtime::FleetLimit;

use crate::history::FleetRecord;

/// The state that a decision is based on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FleetSnapshot {
    /// The fleet's settings; `None` when it has ended.
    pub(crate) config: Option<FleetConfig>,
    /// Whether the main agent is idle. While it works, its plan may be half written.
    pub(crate) root_is_idle: bool,
    /// The todos for which workers should start now.
    pub(crate) due: Vec<TodoId>,
    /// Whether any todo is ready, even if there is no room for its worker.
    pub(crate) has_ready: bool,
    /// Whether any todo is claimed.
    pub(crate) has_claimed: bool,
}

impl FleetSnapshot {
    /// A main agent that was stopped does not read the mail it still has, unless more comes.
    pub(crate) fn take(kernel: &Kernel, root: TaskId, root_was_stopped: bool, default_agent: &str) -> FleetSnapshot {
        let graph = kernel.graph();
        FleetSnapshot {
            config: graph.fleet().cloned(),
            root_is_idle: kernel
                .task(root)
                .is_some_and(|task| task.phase == TaskPhase::Idle && (root_was_stopped || task.inbox.is_empty())),
            due: kernel.due_todos(default_agent),
            has_ready: graph.ready().next().is_some(),
            has_claimed: graph.claimed() > 0,
        }
    }
}

/// The driver's own state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DriverState {
    /// Whether the plan was checked since the main agent last changed it.
    pub(crate) plan_checked: bool,
    /// The limit that was reached.
    pub(crate) limit: Option<FleetLimit>,
}

/// The next step of a fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FleetStep {
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
pub(crate) fn next_step(snapshot: FleetSnapshot, history: &FleetRecord, state: DriverState) -> FleetStep {
    let claimed = snapshot.has_claimed;
    match (state.limit, step_without_limit(snapshot, history, state)) {
        // Start nothing new, and let claimed todos end first.
        (Some(_), FleetStep::Plan | FleetStep::CheckPlan | FleetStep::Dispatch(_) | FleetStep::Review) if claimed => {
            FleetStep::Wait
        }
        (Some(limit), FleetStep::Plan | FleetStep::CheckPlan | FleetStep::Dispatch(_) | FleetStep::Review) => {
            FleetStep::Halt(limit)
        }
        (_, step) => step,
    }
}

fn step_without_limit(snapshot: FleetSnapshot, history: &FleetRecord, state: DriverState) -> FleetStep {
    let Some(config) = snapshot.config else { return FleetStep::Ended };
    if !snapshot.root_is_idle {
        return FleetStep::Wait;
    }
    if config.plan.is_none() && history.plan_requests == 0 {
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
    let changed = history.worked || history.reviews == 0;
    if changed && history.reviews < config.rounds { FleetStep::Review } else { FleetStep::Finish }
}

/// The todos that are left when no step remains.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OpenTodos {
    /// The number of todos that are not done.
    pub(crate) open: usize,
    /// Todos that can never be ready, each with the reason.
    pub(crate) stuck: Vec<(TodoId, String)>,
}

impl OpenTodos {
    pub(crate) fn find(kernel: &Kernel) -> OpenTodos {
        let graph = kernel.graph();
        let mut todos = OpenTodos::default();
        let cycle = graph.cycle();
        for (id, node) in graph.nodes() {
            match &node.progress {
                TodoProgress::Done => {}
                TodoProgress::Pending => {
                    todos.open += 1;
                    let missing = node.depends_on.iter().find(|dependency| graph.node(dependency).is_none());
                    let own_cycle = cycle.as_ref().filter(|path| path.contains(id));
                    let why = match (own_cycle, missing) {
                        (Some(path), _) => Some(format!("it depends on itself: {}", protocol::format_cycle(path))),
                        (None, Some(dependency)) => Some(format!("it depends on `{dependency}`, which does not exist")),
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
    use kernel::{KernelInput, NewMail, SessionLimits};
    use protocol::{MailBody, MailDelivery, Principal, TaskSpec, Timestamp};
    use uuid::Uuid;

    use super::*;

    fn idle_snapshot() -> FleetSnapshot {
        let config = FleetConfig {
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
        FleetSnapshot {
            config: Some(config),
            root_is_idle: true,
            due: Vec::new(),
            has_ready: false,
            has_claimed: false,
        }
    }

    const PLAN_CHECKED: DriverState = DriverState { plan_checked: true, limit: None };

    fn planned() -> FleetRecord {
        FleetRecord { plan_requests: 1, ..FleetRecord::default() }
    }

    #[test]
    fn a_fleet_plans_works_reviews_and_ends() {
        let due = || FleetSnapshot { due: vec!["a".into()], has_ready: true, ..idle_snapshot() };
        assert_eq!(next_step(idle_snapshot(), &FleetRecord::default(), PLAN_CHECKED), FleetStep::Plan);
        assert_eq!(
            next_step(due(), &planned(), DriverState { plan_checked: false, limit: None }),
            FleetStep::CheckPlan
        );
        assert_eq!(next_step(due(), &planned(), PLAN_CHECKED), FleetStep::Dispatch(vec!["a".into()]));
        assert_eq!(
            next_step(FleetSnapshot { has_claimed: true, ..idle_snapshot() }, &planned(), PLAN_CHECKED),
            FleetStep::Wait
        );
        assert_eq!(
            next_step(FleetSnapshot { has_ready: true, ..idle_snapshot() }, &planned(), PLAN_CHECKED),
            FleetStep::Wait,
            "there is no room"
        );
        assert_eq!(next_step(idle_snapshot(), &planned(), PLAN_CHECKED), FleetStep::Review);
        let reviewed = |worked| FleetRecord { plan_requests: 1, reviews: 1, worked, ..FleetRecord::default() };
        assert_eq!(next_step(idle_snapshot(), &reviewed(true), PLAN_CHECKED), FleetStep::Review);
        assert_eq!(
            next_step(idle_snapshot(), &reviewed(false), PLAN_CHECKED),
            FleetStep::Finish,
            "nothing new was planned"
        );
        assert_eq!(
            next_step(idle_snapshot(), &FleetRecord { reviews: 2, ..reviewed(true) }, PLAN_CHECKED),
            FleetStep::Finish
        );
        assert_eq!(next_step(FleetSnapshot { config: None, ..due() }, &planned(), PLAN_CHECKED), FleetStep::Ended);
    }

    #[test]
    fn nothing_starts_while_the_plan_may_be_half_written() {
        let busy = FleetSnapshot { root_is_idle: false, due: vec!["a".into()], has_ready: true, ..idle_snapshot() };
        for past in [FleetRecord::default(), planned()] {
            assert_eq!(next_step(busy.clone(), &past, PLAN_CHECKED), FleetStep::Wait);
        }
    }

    #[test]
    fn after_a_limit_nothing_starts_and_claimed_todos_end_first() {
        let halted = DriverState { plan_checked: true, limit: Some(FleetLimit::Budget) };
        let due = FleetSnapshot { due: vec!["a".into()], has_ready: true, ..idle_snapshot() };
        assert_eq!(next_step(FleetSnapshot { has_claimed: true, ..due.clone() }, &planned(), halted), FleetStep::Wait);
        assert_eq!(next_step(due, &planned(), halted), FleetStep::Halt(FleetLimit::Budget));
        assert_eq!(
            next_step(idle_snapshot(), &planned(), halted),
            FleetStep::Halt(FleetLimit::Budget),
            "a review would be work"
        );
        let mut last = idle_snapshot();
        last.config.as_mut().unwrap().rounds = 0;
        assert_eq!(next_step(last, &planned(), halted), FleetStep::Finish, "only the end is left");
    }

    #[test]
    fn a_main_agent_that_was_stopped_before_it_read_the_request_counts_as_idle() {
        let root = TaskId::new(Uuid::from_u128(1));
        let mut kernel = Kernel::new(SessionLimits::default());
        let config = serde_json::json!({ "cwd": "/w", "model": "m", "permission": "default", "version": "0" });
        let config = serde_json::from_value(config).unwrap();
        let request = NewMail {
            to: root,
            from: Principal::Runtime,
            delivery: MailDelivery::FollowUp,
            body: MailBody::Text { text: "plan it".into(), images: Vec::new(), display: None },
        };
        for input in [
            KernelInput::Open { root, spec: TaskSpec::root("main"), definition: None, config },
            KernelInput::BeginFleet(FleetConfig::for_goal("all")),
            KernelInput::Send(request),
            KernelInput::Interrupt(root),
        ] {
            kernel.decide(Timestamp(0), input).unwrap();
        }
        let is_idle = |root_was_stopped| FleetSnapshot::take(&kernel, root, root_was_stopped, "main").root_is_idle;
        assert!(!kernel.task(root).unwrap().inbox.is_empty());
        assert_eq!((is_idle(true), is_idle(false)), (true, false));
    }
}
