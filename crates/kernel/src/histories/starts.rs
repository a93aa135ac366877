//! Test checks: no agent starts beyond a limit, and none is refused before a limit is reached.

use std::collections::BTreeMap;

use protocol::*;

use crate::*;

const MINUTE: u64 = 60_000;

/// The started agents according to the log.
#[derive(Default)]
pub(super) struct StartAudit {
    depths: BTreeMap<TaskId, u32>,
    total: u32,
    /// When subagents started others.
    subagent_starts: Vec<Timestamp>,
    is_admission_closed: bool,
}

impl StartAudit {
    pub(super) fn check_event(&mut self, entry: &LogEntry, limits: &SessionLimits) {
        match &entry.event {
            Event::TaskCreated(spec) => {
                assert!(!self.is_admission_closed, "{} was created after the stop", entry.task);
                let depth = spec.parent.map_or(0, |parent| self.depths[&parent] + 1);
                assert!(self.depths.insert(entry.task, depth).is_none());
                if spec.kind.counts_as_agent() {
                    self.count(depth, entry.at, limits);
                }
            }
            Event::ActivationStarted { .. } => {
                assert!(!self.is_admission_closed, "{} started after the stop", entry.task)
            }
            Event::AdmissionClosed => self.is_admission_closed = true,
            Event::AdmissionOpened => self.is_admission_closed = false,
            _other => {}
        }
    }

    fn count(&mut self, depth: u32, at: Timestamp, limits: &SessionLimits) {
        self.total += 1;
        assert!(depth <= limits.depth && self.total <= limits.total, "one agent too many");
        if depth > 1 {
            self.subagent_starts.push(at);
            assert!(self.recent(at) <= limits.rate, "subagents start others too fast");
        }
    }

    fn recent(&self, now: Timestamp) -> u32 {
        self.subagent_starts.iter().rev().take_while(|at| at.0 + MINUTE > now.0).count() as u32
    }

    /// Checks that a limit for which a start was refused is reached.
    pub(super) fn check_refusal(&self, limits: &SessionLimits, now: Timestamp, parent: TaskId, refusal: &InputRefusal) {
        match refusal {
            InputRefusal::Depth { cap } => assert_eq!((self.depths[&parent], *cap), (limits.depth, limits.depth)),
            InputRefusal::Total { cap } => assert_eq!((self.total, *cap), (limits.total, limits.total)),
            InputRefusal::Rate { cap } => {
                assert_eq!((self.recent(now), *cap), (limits.rate, limits.rate));
                assert!(self.depths[&parent] > 0, "the root has no rate limit");
            }
            InputRefusal::Closed => assert!(self.is_admission_closed),
            _other => {}
        }
    }

    pub(super) fn check(&self, kernel: &Kernel) {
        assert_eq!(kernel.started_agents(), self.total);
    }
}
