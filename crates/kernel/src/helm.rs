//! How the root is steered: the session's mode and model, and where it is with its objective.

use protocol::{Attempt, AutopilotStop, Decision, Entry, Event, Origin, PlanAction, SessionMode, WrapUp};

use crate::Phase;
use crate::state::{Admission, State};

/// How the root is steered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Helm {
    /// The session's mode.
    pub mode: SessionMode,
    /// The objective that the root is at on autopilot, until it is over.
    pub flight: Option<Flight>,
    /// The model that somebody chose while the session ran; none when it is still the one that its owner began with.
    pub model: Option<String>,
    /// Whether the plan is made and nobody carries it out yet: plan mode ends with the activation.
    pub(crate) leaving: bool,
    /// Turns of the root since it was last given an objective.
    pub(crate) turns: u32,
    /// Why the next turn of the activation is its last, when its objective is over.
    pub(crate) closing: Option<WrapUp>,
}

/// An objective that the root is at on autopilot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flight {
    /// How often the root was told to go on.
    pub continues: u32,
    /// What there was to see when it was last told.
    seen: Option<String>,
    /// How often in a row nothing had changed then.
    same: u32,
}

impl Flight {
    /// How often in a row nothing has changed since the root was told to go on, if this is what there is to see.
    pub(crate) fn unchanged(&self, state: &str) -> u32 {
        if self.seen.as_deref() == Some(state) { self.same + 1 } else { 0 }
    }
}

impl State {
    /// Takes in what an event says of the root's way. It comes before the event changes anything else.
    pub(crate) fn steer(&mut self, entry: &Entry) {
        let of_root = self.root == Some(entry.task);
        match &entry.event {
            Event::ModeChanged { mode, .. } => {
                let at_work = self.root.and_then(|root| self.tasks.get(&root)).is_some_and(|root| {
                    // Whoever is at rest is given an objective with the next message.
                    !root.phase.is_at_rest()
                });
                let flight = (*mode == SessionMode::Autopilot && at_work).then(Flight::default);
                self.helm = Helm { mode: *mode, flight, model: self.helm.model.take(), ..Helm::default() };
            }
            Event::ModelChanged { model, .. } => self.helm.model = Some(model.clone()),
            Event::SessionAdopted { terms, .. } => {
                // Whoever goes on with the session may have named another.
                self.helm.model = self.helm.model.take().map(|_chosen| terms.model.clone());
            }
            Event::MailAdmitted { from: Origin::User, .. } if of_root => {
                self.helm.flight = (self.helm.mode == SessionMode::Autopilot).then(Flight::default);
                (self.helm.turns, self.helm.closing) = (0, None);
            }
            Event::TurnBegun { .. } if of_root => self.helm.turns += 1,
            // A try that brought no answer does not count.
            Event::TurnFailed { .. } if of_root => self.helm.turns = self.helm.turns.saturating_sub(1),
            // Another activation has other things to do, and whoever is held is not done.
            Event::ActivationStarted { attempt: Attempt(1), .. } | Event::StopHeld { .. } if of_root => {
                self.helm.closing = None;
            }
            Event::AskDecided { decision: Decision::Proceed { action: PlanAction::ExitOnly }, .. } => {
                self.helm.leaving = true;
            }
            Event::AutopilotContinued { count, state } => {
                let same = self.helm.flight.as_ref().map_or(0, |flight| flight.unchanged(state));
                self.helm.flight = Some(Flight { continues: *count, seen: Some(state.clone()), same });
            }
            Event::AutopilotStopped { why, .. } => {
                self.helm.flight = None;
                self.helm.closing = match why {
                    AutopilotStop::Complete { .. } | AutopilotStop::Blocked { .. } => Some(WrapUp::Reported),
                    AutopilotStop::Limit
                    | AutopilotStop::NoChange
                    | AutopilotStop::Aborted { .. }
                    | AutopilotStop::Failed => None,
                };
            }
            _other => {}
        }
    }

    /// Whether the root should be told to go on: it has an objective and rests, and so does every other agent.
    pub(crate) fn is_continuation_due(&self) -> bool {
        let rests = |root: &crate::Task| root.phase == Phase::Idle && root.inbox.is_empty();
        let root = self.root.and_then(|root| self.tasks.get(&root));
        self.helm.flight.is_some()
            && self.at_work == 0
            && self.admission == Admission::Open
            && self.graph.fleet().is_none()
            && root.is_some_and(rests)
    }
}
