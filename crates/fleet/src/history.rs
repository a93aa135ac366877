//! The history of a fleet, folded from the log.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{Envelope, Event, FleetConfig, FleetEnd, MailBody, Principal, TaskId, TaskOutcome, Todo, TodoId};

use crate::prompts;

/// The history of a fleet.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct FleetRecord {
    /// Its goal.
    pub(crate) goal: String,
    /// How often the main agent was asked for a plan.
    pub(crate) plan_requests: u32,
    /// How often the main agent was asked to fix the latest plan.
    pub(crate) plan_fixes: u32,
    /// How often the main agent was shown the outcome.
    pub(crate) reviews: u32,
    /// Whether the main agent was asked anything since the fleet last started.
    pub(crate) was_asked: bool,
    /// Whether the main agent has answered a request for a plan, or a worker has started.
    pub(crate) planned: bool,
    /// Whether a worker has started since the main agent was last asked for a plan or a review.
    pub(crate) worked: bool,
    /// Whether workers have their own checkouts.
    pub(crate) isolated: bool,
    /// How the fleet ended.
    pub(crate) ended: Option<FleetEnd>,
    /// Whether the session admits no new tasks.
    pub(crate) closed: bool,
    /// The requirements of each todo, as its planner wrote them. Changes by workers do not count.
    pub(crate) requirements: BTreeMap<TodoId, TodoRequirements>,
    /// Todos done by workers or reused from earlier fleets. The todo table may be ahead of this, and only the table has
    /// the todos that the user marked as done.
    pub(crate) done: BTreeSet<TodoId>,
    /// The commits that hold the work of workers.
    pub(crate) sealed_commits: BTreeMap<TaskId, String>,
}

/// The requirements of a todo.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct TodoRequirements {
    pub(crate) check: Option<String>,
    pub(crate) expects: Option<String>,
    /// The agent that wrote the todo, unless it is the planner. The todo may not do more than that agent may.
    pub(crate) author: Option<TaskId>,
}

impl FleetRecord {
    pub(crate) fn apply_event(&mut self, envelope: &Envelope, root: TaskId) {
        match &envelope.entry.event {
            Event::FleetBegan(config) => self.begin(config),
            Event::TodosChanged { by, changed, gone, .. } => self.set_requirements(*by, changed, gone, root),
            Event::AdmissionClosed => self.closed = true,
            Event::AdmissionOpened => self.closed = false,
            Event::MailAdmitted { from, body: MailBody::Text { text, .. }, .. } if envelope.entry.task == root => {
                self.note_prompt(*from, text);
            }
            Event::FleetEnded { end, .. } => self.ended = Some(*end),
            Event::TodoClaimed { todo, .. } => {
                (self.worked, self.planned) = (true, true);
                self.done.remove(todo);
            }
            Event::TodoDone { todo, .. } => {
                self.done.insert(todo.clone());
            }
            Event::ActivationEnded { outcome: TaskOutcome::Completed, .. } if envelope.entry.task == root => {
                self.planned |= self.plan_requests > 0;
            }
            Event::WorkSealed { commit, .. } => {
                self.sealed_commits.insert(envelope.entry.task, commit.clone());
            }
            _other => {}
        }
    }

    /// Resets the history when a fleet starts. A fleet that resumes with the same goal and todos keeps its plan; without
    /// a goal, the conversation may want another one.
    fn begin(&mut self, config: &FleetConfig) {
        let FleetRecord { goal, plan_requests, planned, done, sealed_commits, requirements, closed, .. } =
            std::mem::take(self);
        let planned = planned && goal == config.goal && !goal.trim().is_empty() && !requirements.is_empty();
        let plan_requests = if planned { plan_requests } else { 0 };
        let (isolated, goal) = (config.isolated, config.goal.clone());
        *self = FleetRecord {
            goal,
            plan_requests,
            planned,
            isolated,
            done,
            sealed_commits,
            requirements,
            closed,
            ..FleetRecord::default()
        };
    }

    fn set_requirements(&mut self, by: Principal, changed: &[Todo], gone: &[TodoId], root: TaskId) {
        let author = match by {
            Principal::User | Principal::Runtime => None,
            Principal::Task { id } => Some(id).filter(|id| *id != root),
        };
        if author.is_none() {
            gone.iter().for_each(|todo| drop(self.requirements.remove(todo)));
        }
        for todo in changed {
            if author.is_none() || !self.requirements.contains_key(&todo.id) {
                let required = TodoRequirements { check: todo.check.clone(), expects: todo.expects.clone(), author };
                self.requirements.insert(todo.id.clone(), required);
            }
        }
    }

    fn note_prompt(&mut self, from: Principal, text: &str) {
        let kind = prompts::prompt_kind(from, text);
        self.was_asked |= kind.is_some();
        match kind {
            Some(prompts::FleetPromptKind::Plan) => {
                (self.plan_requests, self.plan_fixes, self.worked) = (self.plan_requests + 1, 0, false)
            }
            Some(prompts::FleetPromptKind::FixPlan) => self.plan_fixes += 1,
            Some(prompts::FleetPromptKind::Review) => {
                (self.reviews, self.plan_fixes, self.worked) = (self.reviews + 1, 0, false)
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::{Activation, FailKind, LogEntry, MailDelivery, MailId, SessionId, Timestamp};
    use uuid::Uuid;

    use super::*;

    fn read(past: &mut FleetRecord, event: Event) {
        let root = TaskId::new(Uuid::nil());
        let (session, entry) = (SessionId::new(Uuid::nil()), LogEntry { task: root, at: Timestamp(0), event });
        past.apply_event(&Envelope { v: 1, seq: 1, session, entry }, root);
    }

    /// The history of a fleet that starts again after the main agent's first answer ended with this outcome.
    fn restarted_history(outcome: TaskOutcome) -> FleetRecord {
        let fleet_began = || {
            let config = serde_json::json!({ "goal": "all", "retries": 0, "rounds": 0, "isolated": false });
            Event::FleetBegan(serde_json::from_value(config).unwrap())
        };
        let body = MailBody::text(prompts::plan_prompt("all", ["worker"].into_iter(), "worker"));
        let todo = Todo::new("a", "the first half");
        let by = Principal::User;
        let mut past = FleetRecord::default();
        read(&mut past, fleet_began());
        read(&mut past, Event::MailAdmitted { mail: MailId(1), from: by, delivery: MailDelivery::FollowUp, body });
        read(&mut past, Event::TodosChanged { by, changed: vec![todo], gone: Vec::new(), upto: 1 });
        read(&mut past, Event::ActivationEnded { activation: Activation(1), outcome, text: String::new() });
        assert!(past.was_asked);
        read(&mut past, Event::FleetEnded { end: FleetEnd::Stopped, why: None });
        read(&mut past, fleet_began());
        past
    }

    #[test]
    fn an_unfinished_plan_is_requested_again_and_a_complete_one_is_not() {
        let complete = restarted_history(TaskOutcome::Completed);
        assert_eq!((complete.plan_requests, complete.was_asked), (1, false));
        let unfinished =
            restarted_history(TaskOutcome::Failed { kind: FailKind::Internal, message: "no model".into() });
        assert_eq!((unfinished.plan_requests, unfinished.was_asked), (0, false));
    }
}
