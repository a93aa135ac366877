//! What a fleet has done so far, as the log tells it.

use std::collections::BTreeMap;

use protocol::{Body, Envelope, Event, FleetEnd, FleetTerms, Origin, TaskId, Todo, TodoId};

use super::words;

/// What a fleet has done so far.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Past {
    /// What it is all for.
    pub(super) goal: String,
    /// How often the main agent was asked for a plan.
    pub(super) plans: u32,
    /// How often it was asked to mend the latest plan.
    pub(super) mends: u32,
    /// How often it was shown the outcome.
    pub(super) reviews: u32,
    /// Whether anybody began to work since it was last asked.
    pub(super) worked: bool,
    /// Whether workers have checkouts of their own.
    pub(super) isolated: bool,
    /// How it was ended.
    pub(super) ended: Option<FleetEnd>,
    /// Whether the session takes no new tasks.
    pub(super) closed: bool,
    /// What must hold of each todo, as whoever plans wrote it. What a worker makes of it does not count.
    pub(super) demands: BTreeMap<TodoId, Demand>,
    /// The commits that hold the work of workers.
    pub(super) sealed: BTreeMap<TaskId, String>,
}

/// What must hold of a todo.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Demand {
    pub(super) check: Option<String>,
    pub(super) expects: Option<String>,
    /// The agent that wrote it, if it does not plan; what it could not have done itself is not done for it.
    pub(super) author: Option<TaskId>,
}

impl Past {
    pub(super) fn read(&mut self, envelope: &Envelope, root: TaskId) {
        match &envelope.entry.event {
            Event::FleetBegan(terms) => self.begin(terms),
            Event::TodosChanged { by, changed, gone, .. } => self.demand(*by, changed, gone, root),
            Event::AdmissionClosed => self.closed = true,
            Event::AdmissionOpened => self.closed = false,
            Event::MailAdmitted { from, body: Body::Text { text, .. }, .. } if envelope.entry.task == root => {
                self.hear(*from, text);
            }
            Event::FleetEnded { end } => self.ended = Some(*end),
            Event::TodoClaimed { .. } => self.worked = true,
            Event::WorkSealed { commit, .. } => {
                self.sealed.insert(envelope.entry.task, commit.clone());
            }
            _other => {}
        }
    }

    /// A fleet begins. One that goes on with its own todos has its plan.
    fn begin(&mut self, terms: &FleetTerms) {
        let Past { goal, plans, sealed, demands, closed, .. } = std::mem::take(self);
        let goes_on = goal == terms.goal && !demands.is_empty();
        let (isolated, plans) = (terms.isolated, if goes_on { plans } else { 0 });
        *self = Past { goal: terms.goal.clone(), plans, isolated, sealed, demands, closed, ..Past::default() };
    }

    fn demand(&mut self, by: Origin, changed: &[Todo], gone: &[TodoId], root: TaskId) {
        let author = match by {
            Origin::User | Origin::Runtime => None,
            Origin::Task { id } => Some(id).filter(|id| *id != root),
        };
        if author.is_none() {
            gone.iter().for_each(|todo| drop(self.demands.remove(todo)));
        }
        for todo in changed {
            if author.is_none() || !self.demands.contains_key(&todo.id) {
                let demand = Demand { check: todo.check.clone(), expects: todo.expects.clone(), author };
                self.demands.insert(todo.id.clone(), demand);
            }
        }
    }

    fn hear(&mut self, from: Origin, text: &str) {
        match words::asked(from, text) {
            Some(words::Asked::Plan) => (self.plans, self.mends, self.worked) = (self.plans + 1, 0, false),
            Some(words::Asked::Mend) => self.mends += 1,
            Some(words::Asked::Review) => (self.reviews, self.mends, self.worked) = (self.reviews + 1, 0, false),
            None => {}
        }
    }
}
