//! Counts the turns that all agents take for one prompt of the user, to check the kernel's own count.

use std::collections::BTreeSet;

use protocol::*;

/// How many turns all agents together have taken since the user's last prompt, and how many they may take.
#[derive(Default)]
pub(super) struct TurnAudit {
    root: Option<TaskId>,
    limit: Option<u32>,
    turns: u32,
    /// Tasks that take their last turn, which the limit does not forbid.
    on_last_turn: BTreeSet<TaskId>,
}

impl TurnAudit {
    pub(super) fn check_event(&mut self, LogEntry { task, event, .. }: &LogEntry) {
        match event {
            Event::SessionOpened(config) => self.limit = config.max_turns,
            Event::SessionAdopted { config, .. } => (self.limit, self.turns) = (config.max_turns, 0),
            Event::FleetBegan(_) => self.turns = 0,
            Event::TaskCreated(spec) if spec.kind.is_root() => self.root = Some(*task),
            Event::MailAdmitted { from: Principal::User, .. } if self.root == Some(*task) => self.turns = 0,
            Event::WrapUpBegan { .. } => drop(self.on_last_turn.insert(*task)),
            Event::ActivationEnded { .. } => drop(self.on_last_turn.remove(task)),
            Event::TurnFailed { .. } => self.turns = self.turns.saturating_sub(1),
            Event::TurnBegun { .. } => {
                self.turns += 1;
                let is_allowed = self.on_last_turn.contains(task) || self.limit.is_none_or(|limit| self.turns <= limit);
                assert!(is_allowed, "{task} takes turn {}, but the limit is {:?}", self.turns, self.limit);
            }
            _other => {}
        }
    }
}
