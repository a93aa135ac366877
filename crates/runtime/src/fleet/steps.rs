//! What a fleet does next: one pure decision, made anew whenever something happened.

use kernel::{Kernel, Phase, Standing};
use protocol::{FleetTerms, TaskId, TodoId};

use super::Halt;
use super::past::Past;

/// What a decision is made on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    /// How the fleet works; none when it was ended.
    pub(super) terms: Option<FleetTerms>,
    /// Whether the main agent rests. While it works, its plan may be half written.
    pub(super) rests: bool,
    /// What workers should be started for now.
    pub(super) due: Vec<TodoId>,
    /// Whether anything is ready, be there room for it or not.
    pub(super) ready: bool,
    /// Whether anything is held.
    pub(super) held: bool,
}

impl Seen {
    pub(super) fn look(kernel: &Kernel, root: TaskId, usual: &str) -> Seen {
        let graph = kernel.graph();
        Seen {
            terms: graph.fleet().cloned(),
            rests: kernel.task(root).is_some_and(|task| task.phase == Phase::Idle && task.inbox.is_empty()),
            due: kernel.due(usual),
            ready: graph.ready().next().is_some(),
            held: graph.claimed() > 0,
        }
    }
}

/// What the driver itself knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Own {
    /// Whether the plan was looked at since the main agent last changed it.
    pub(super) judged: bool,
    /// The limit that was reached.
    pub(super) halt: Option<Halt>,
}

/// What a fleet does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
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
    Halt(Halt),
    /// It was ended.
    Over,
}

/// Decides what comes next.
pub(super) fn next(seen: Seen, past: &Past, own: Own) -> Step {
    let held = seen.held;
    match (own.halt, work(seen, past, own)) {
        // Nothing new begins; what is held comes to its end first.
        (Some(_), Step::Plan | Step::Judge | Step::Dispatch(_) | Step::Review) if held => Step::Wait,
        (Some(halt), Step::Plan | Step::Judge | Step::Dispatch(_) | Step::Review) => Step::Halt(halt),
        (_, step) => step,
    }
}

fn work(seen: Seen, past: &Past, own: Own) -> Step {
    let Some(terms) = seen.terms else { return Step::Over };
    if !seen.rests {
        return Step::Wait;
    }
    if terms.plan.is_none() && past.plans == 0 {
        return Step::Plan;
    }
    if !own.judged {
        return Step::Judge;
    }
    if !seen.due.is_empty() {
        return Step::Dispatch(seen.due);
    }
    if seen.held || seen.ready {
        return Step::Wait;
    }
    let changed = past.worked || past.reviews == 0;
    if changed && past.reviews < terms.rounds { Step::Review } else { Step::Finish }
}

/// What is left, once nothing moves any more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Stock {
    /// How many are not done.
    pub(super) open: usize,
    /// What can never be ready as things are, with why.
    pub(super) stuck: Vec<(TodoId, String)>,
}

impl Stock {
    pub(super) fn take(kernel: &Kernel) -> Stock {
        let graph = kernel.graph();
        let mut stock = Stock::default();
        let cycle = graph.cycle();
        for (id, node) in graph.nodes() {
            match &node.standing {
                Standing::Done => {}
                Standing::Pending => {
                    stock.open += 1;
                    let missing = node.depends_on.iter().find(|above| graph.node(above).is_none());
                    let circle = cycle.as_ref().filter(|path| path.contains(id));
                    let why = match (circle, missing) {
                        (Some(path), _) => Some(format!("it depends on itself: {}", protocol::circle(path))),
                        (None, Some(above)) => Some(format!("it depends on `{above}`, and there is no such todo")),
                        (None, None) => None,
                    };
                    stock.stuck.extend(why.map(|why| (id.clone(), why)));
                }
                Standing::Said | Standing::Claimed { .. } | Standing::Blocked(_) => stock.open += 1,
            }
        }
        stock
    }
}
