//! What a fleet has done so far, as the log tells it.

use std::collections::BTreeMap;

use protocol::{Body, Envelope, Event, FleetEnd, Origin, TaskId};

use super::words;

/// What a fleet has done so far. One that begins again begins with nothing.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Past {
    /// How often the main agent was asked for a plan.
    pub(super) plans: u32,
    /// How often it was asked to mend the latest plan.
    pub(super) mends: u32,
    /// How often it was shown the outcome.
    pub(super) reviews: u32,
    /// Whether anybody began to work since it was last asked.
    pub(super) worked: bool,
    /// Whether workers had checkouts of their own, and whether the user's branch was to get their work.
    pub(super) isolated: bool,
    pub(super) merge: bool,
    /// How it was ended.
    pub(super) ended: Option<FleetEnd>,
    /// The commits that hold the work of workers.
    pub(super) sealed: BTreeMap<TaskId, String>,
}

impl Past {
    pub(super) fn read(&mut self, envelope: &Envelope, root: TaskId) {
        match &envelope.entry.event {
            Event::FleetBegan(terms) => {
                let (isolated, merge) = (terms.isolated, terms.merge);
                *self = Past { isolated, merge, sealed: std::mem::take(&mut self.sealed), ..Past::default() };
            }
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

    fn hear(&mut self, from: Origin, text: &str) {
        match words::asked(from, text) {
            Some(words::Asked::Plan) => (self.plans, self.mends, self.worked) = (self.plans + 1, 0, false),
            Some(words::Asked::Mend) => self.mends += 1,
            Some(words::Asked::Review) => (self.reviews, self.mends, self.worked) = (self.reviews + 1, 0, false),
            None => {}
        }
    }
}
