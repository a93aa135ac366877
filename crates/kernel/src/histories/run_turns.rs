//! A second count of the turns of one run.

use std::collections::BTreeSet;

use protocol::*;

/// How many turns all agents have taken since a person last asked for something, and how many they may.
#[derive(Default)]
pub(super) struct TurnAudit {
    root: Option<TaskId>,
    limit: Option<u32>,
    turns: u32,
    /// Those that are at their last turn, which every one of them may still take.
    last: BTreeSet<TaskId>,
}

impl TurnAudit {
    pub(super) fn read(&mut self, LogEntry { task, event, .. }: &LogEntry) {
        match event {
            Event::SessionOpened(terms) => self.limit = terms.max_turns,
            Event::SessionAdopted { config: terms, .. } => (self.limit, self.turns) = (terms.max_turns, 0),
            Event::FleetBegan(_) => self.turns = 0,
            Event::TaskCreated(spec) if spec.kind == TaskType::Main => self.root = Some(*task),
            Event::MailAdmitted { from: Principal::User, .. } if self.root == Some(*task) => self.turns = 0,
            Event::WrapUpBegan { .. } => drop(self.last.insert(*task)),
            Event::ActivationEnded { .. } => drop(self.last.remove(task)),
            Event::TurnFailed { .. } => self.turns = self.turns.saturating_sub(1),
            Event::TurnBegun { .. } => {
                self.turns += 1;
                let may = self.last.contains(task) || self.limit.is_none_or(|limit| self.turns <= limit);
                assert!(may, "{task} takes turn {} of a run that may take {:?}", self.turns, self.limit);
            }
            _other => {}
        }
    }
}
