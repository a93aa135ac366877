//! The settings that control the root: the session's mode and model, and the progress of its objective.

use std::collections::BTreeMap;

use protocol::{
    AskDecision, Attempt, AutopilotStop, Event, LogEntry, PlanAction, Principal, ReasoningEffort, SessionMode,
    WrapUpReason,
};

use crate::TaskPhase;
use crate::state::{KernelState, SessionAdmission};

/// The settings that control the root, and the progress of its objective.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RootControl {
    /// The session's mode.
    pub mode: SessionMode,
    /// The current autopilot objective.
    pub objective: Option<ObjectiveRun>,
    /// The model that was chosen while the session ran; none if it is still the owner's initial one.
    pub model: Option<String>,
    /// The reasoning effort that was chosen while the session ran.
    pub effort: Option<ReasoningEffort>,
    /// The MCP servers that were switched on or off while the session ran.
    pub mcp_servers: BTreeMap<String, bool>,
    /// Whether the plan is approved but must not be carried out yet: plan mode ends with the activation.
    pub(crate) leaving_plan_mode: bool,
    /// Turns of the root since the user's last message or the last change of mode.
    pub(crate) turns: u32,
    /// Why the next turn of the activation is its last, if its objective is over.
    pub(crate) last_turn_reason: Option<WrapUpReason>,
}

/// The progress of an autopilot objective.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectiveRun {
    /// How often the root was told to continue.
    pub continues: u32,
    /// A digest of the observable state of the root's work when it was last told to continue.
    last_seen: Option<String>,
    /// How often in a row the digest had not changed.
    unchanged_count: u32,
}

impl ObjectiveRun {
    /// How often in a row the digest has not changed, if it is now `state`.
    pub(crate) fn unchanged_times(&self, state: &str) -> u32 {
        if self.last_seen.as_deref() == Some(state) { self.unchanged_count + 1 } else { 0 }
    }
}

impl KernelState {
    /// Applies an event to the root control, before it changes anything else.
    pub(crate) fn update_root_control(&mut self, entry: &LogEntry) {
        let is_root = self.root == Some(entry.task);
        match &entry.event {
            Event::ModeChanged { mode, .. } => {
                let at_work = self.root.and_then(|root| self.tasks.get(&root)).is_some_and(|root| {
                    // An idle root gets its objective with the next message.
                    !root.phase.is_at_rest()
                });
                let objective = (*mode == SessionMode::Autopilot && at_work).then(ObjectiveRun::default);
                self.root_control = RootControl {
                    mode: *mode,
                    objective,
                    model: self.root_control.model.take(),
                    effort: self.root_control.effort,
                    mcp_servers: std::mem::take(&mut self.root_control.mcp_servers),
                    ..RootControl::default()
                };
            }
            Event::ModelChanged { model, effort, .. } => {
                self.root_control.model = Some(model.clone());
                self.root_control.effort = effort.or(self.root_control.effort);
            }
            Event::McpServerToggled { server, enabled, .. } => {
                self.root_control.mcp_servers.insert(server.clone(), *enabled);
            }
            Event::SessionAdopted { config, .. } => {
                // The new owner's model replaces a model chosen under the previous owner.
                self.root_control.model = self.root_control.model.take().map(|_chosen| config.model.clone());
                self.root_control.effort = None;
            }
            Event::MailAdmitted { from: Principal::User, .. } if is_root => {
                self.root_control.objective =
                    (self.root_control.mode == SessionMode::Autopilot).then(ObjectiveRun::default);
                (self.root_control.turns, self.root_control.last_turn_reason) = (0, None);
            }
            Event::TurnBegun { .. } if is_root => self.root_control.turns += 1,
            // A turn without an answer does not count.
            Event::TurnFailed { .. } if is_root => self.root_control.turns = self.root_control.turns.saturating_sub(1),
            // In a new activation, or when the end of one was blocked, more turns follow.
            Event::ActivationStarted { attempt: Attempt(1), .. } | Event::StopBlocked { .. } if is_root => {
                self.root_control.last_turn_reason = None;
            }
            Event::AskDecided { decision: AskDecision::Proceed { action: PlanAction::ExitOnly }, .. } => {
                self.root_control.leaving_plan_mode = true;
            }
            Event::AutopilotContinued { count, state } => {
                let unchanged_count =
                    self.root_control.objective.as_ref().map_or(0, |objective| objective.unchanged_times(state));
                self.root_control.objective =
                    Some(ObjectiveRun { continues: *count, last_seen: Some(state.clone()), unchanged_count });
            }
            Event::AutopilotStopped { why, .. } => {
                self.root_control.objective = None;
                self.root_control.last_turn_reason = match why {
                    AutopilotStop::Complete { .. } | AutopilotStop::Blocked { .. } => Some(WrapUpReason::Reported),
                    AutopilotStop::Limit
                    | AutopilotStop::NoChange
                    | AutopilotStop::Aborted { .. }
                    | AutopilotStop::Failed => None,
                };
            }
            _other => {}
        }
    }

    /// Whether the root should be told to continue: it has an objective, and all agents including the root are at rest.
    pub(crate) fn is_continuation_due(&self) -> bool {
        let is_idle_without_mail = |root: &crate::KernelTask| root.phase == TaskPhase::Idle && root.inbox.is_empty();
        let root = self.root.and_then(|root| self.tasks.get(&root));
        self.root_control.objective.is_some()
            && self.agents_at_work == 0
            && self.admission == SessionAdmission::Open
            && self.graph.fleet().is_none()
            && root.is_some_and(is_idle_without_mail)
    }
}
