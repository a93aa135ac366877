//! A second count of agents against the limits: neither one too many, nor one refused too early.

use std::collections::BTreeMap;

use protocol::*;

use crate::*;

const MINUTE: u64 = 60_000;

#[derive(Default)]
pub(super) struct StartAudit {
    depths: BTreeMap<TaskId, u32>,
    total: u32,
    /// When agents below the root started others.
    below: Vec<Timestamp>,
    closed: bool,
}

impl StartAudit {
    pub(super) fn read(&mut self, entry: &LogEntry, limits: &SessionLimits) {
        match &entry.event {
            Event::TaskCreated(spec) => {
                assert!(!self.closed, "{} was made after the stop", entry.task);
                let depth = spec.parent.map_or(0, |parent| self.depths[&parent] + 1);
                assert!(self.depths.insert(entry.task, depth).is_none());
                if spec.kind == TaskType::Agent {
                    self.count(depth, entry.at, limits);
                }
            }
            Event::ActivationStarted { .. } => assert!(!self.closed, "{} started after the stop", entry.task),
            Event::AdmissionClosed => self.closed = true,
            Event::AdmissionOpened => self.closed = false,
            _other => {}
        }
    }

    fn count(&mut self, depth: u32, at: Timestamp, limits: &SessionLimits) {
        self.total += 1;
        assert!(depth <= limits.depth && self.total <= limits.total, "an agent too many");
        if depth > 1 {
            self.below.push(at);
            assert!(self.recent(at) <= limits.rate, "agents start others too fast");
        }
    }

    fn recent(&self, now: Timestamp) -> u32 {
        self.below.iter().rev().take_while(|at| at.0 + MINUTE > now.0).count() as u32
    }

    /// A limit refuses what is past it and nothing before.
    pub(super) fn refused(&self, limits: &SessionLimits, now: Timestamp, parent: TaskId, refusal: &InputRefusal) {
        match refusal {
            InputRefusal::Depth { cap } => assert_eq!((self.depths[&parent], *cap), (limits.depth, limits.depth)),
            InputRefusal::Total { cap } => assert_eq!((self.total, *cap), (limits.total, limits.total)),
            InputRefusal::Rate { cap } => {
                assert_eq!((self.recent(now), *cap), (limits.rate, limits.rate));
                assert!(self.depths[&parent] > 0, "the root has no rate");
            }
            InputRefusal::Closed => assert!(self.closed),
            _other => {}
        }
    }

    pub(super) fn check(&self, kernel: &Kernel) {
        assert_eq!(kernel.started_agents(), self.total);
    }
}
