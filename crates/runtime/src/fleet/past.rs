//! What a fleet has done so far, as the log tells it.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{Body, Envelope, Event, FleetEnd, FleetTerms, Origin, Outcome, TaskId, Todo, TodoId};

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
    /// Whether it was asked anything since the fleet last began.
    pub(super) asked: bool,
    /// Whether it answered when it was asked for the plan, or somebody worked by it.
    pub(super) planned: bool,
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
    /// What workers or earlier runs have done. The table may be ahead of it, and people's words are only there.
    pub(super) done: BTreeSet<TodoId>,
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
            Event::TodoClaimed { todo, .. } => {
                (self.worked, self.planned) = (true, true);
                self.done.remove(todo);
            }
            Event::TodoDone { todo, .. } => {
                self.done.insert(todo.clone());
            }
            Event::ActivationEnded { outcome: Outcome::Completed, .. } if envelope.entry.task == root => {
                self.planned |= self.plans > 0;
            }
            Event::WorkSealed { commit, .. } => {
                self.sealed.insert(envelope.entry.task, commit.clone());
            }
            _other => {}
        }
    }

    /// A fleet begins. One that goes on with its own todos has its plan.
    fn begin(&mut self, terms: &FleetTerms) {
        let Past { goal, plans, planned, done, sealed, demands, closed, .. } = std::mem::take(self);
        let planned = planned && goal == terms.goal && !demands.is_empty();
        let (isolated, plans, goal) = (terms.isolated, if planned { plans } else { 0 }, terms.goal.clone());
        *self = Past { goal, plans, planned, isolated, done, sealed, demands, closed, ..Past::default() };
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
        let asked = words::asked(from, text);
        self.asked |= asked.is_some();
        match asked {
            Some(words::Asked::Plan) => (self.plans, self.mends, self.worked) = (self.plans + 1, 0, false),
            Some(words::Asked::Mend) => self.mends += 1,
            Some(words::Asked::Review) => (self.reviews, self.mends, self.worked) = (self.reviews + 1, 0, false),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::{Activation, At, Delivery, Entry, FailKind, MailId, SessionId};
    use uuid::Uuid;

    use super::*;

    fn read(past: &mut Past, event: Event) {
        let root = TaskId::new(Uuid::nil());
        let (session, entry) = (SessionId::new(Uuid::nil()), Entry { task: root, at: At(0), event });
        past.read(&Envelope { v: 1, seq: 1, session, entry }, root);
    }

    /// What is known of a fleet that begins again after its main agent's answer to the first one ended like this.
    fn begun_again(outcome: Outcome) -> Past {
        let terms = || {
            let terms = serde_json::json!({ "goal": "all", "retries": 0, "rounds": 0, "isolated": false });
            Event::FleetBegan(serde_json::from_value(terms).unwrap())
        };
        let body = Body::text(words::plan("all", ["worker"].into_iter(), "worker"));
        let todo = Todo::new("a", "the first half");
        let by = Origin::User;
        let mut past = Past::default();
        read(&mut past, terms());
        read(&mut past, Event::MailAdmitted { mail: MailId(1), from: by, delivery: Delivery::FollowUp, body });
        read(&mut past, Event::TodosChanged { by, changed: vec![todo], gone: Vec::new(), upto: 1 });
        read(&mut past, Event::ActivationEnded { activation: Activation(1), outcome, text: String::new() });
        assert!(past.asked);
        read(&mut past, Event::FleetEnded { end: FleetEnd::Stopped });
        read(&mut past, terms());
        past
    }

    #[test]
    fn f4_a_plan_that_was_broken_off_is_asked_for_again_and_a_whole_one_is_not() {
        let whole = begun_again(Outcome::Completed);
        assert_eq!((whole.plans, whole.asked), (1, false));
        let half = begun_again(Outcome::Failed { kind: FailKind::Internal, message: "no model".into() });
        assert_eq!((half.plans, half.asked), (0, false));
    }
}
