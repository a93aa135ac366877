//! A second reading of what hooks do: each activation is greeted once and parted from once, and held as often as the
//! limits say.

use std::collections::{BTreeMap, BTreeSet};

use protocol::*;

use crate::*;

#[derive(Default)]
pub(super) struct HookAudit {
    running: BTreeMap<TaskId, Activation>,
    greeted: BTreeSet<(TaskId, Activation)>,
    parted: BTreeSet<(TaskId, Activation)>,
    holds: BTreeMap<TaskId, (u32, u32)>,
}

impl HookAudit {
    pub(super) fn read(&mut self, id: TaskId, event: &Event, limits: &SessionLimits) {
        match event {
            Event::ActivationStarted { activation, attempt } => {
                self.running.insert(id, *activation);
                if *attempt == Attempt(1) {
                    self.holds.insert(id, (0, 0));
                }
            }
            Event::StartHooksRan { activation, .. } => {
                assert_eq!(self.running.get(&id), Some(activation), "another activation is greeted than runs");
                assert!(self.greeted.insert((id, *activation)), "{id} is greeted twice");
            }
            Event::StopHooksRan { activation } => {
                let place = (id, *activation);
                assert!(self.greeted.contains(&place), "{id} is parted from and was never greeted");
                assert!(self.parted.insert(place), "{id} is parted from twice");
            }
            // What was greeted until now is the original's to part from.
            Event::SessionForked { .. } => self.parted.extend(&self.greeted),
            Event::StopBlocked { by, .. } => {
                let (holds, repairs) = self.holds.entry(id).or_default();
                match by {
                    StopBlocker::Hook => *holds += 1,
                    StopBlocker::Expects => *repairs += 1,
                }
                assert!(*holds <= limits.max_stop_blocks && *repairs <= limits.max_repairs, "{id} is held too often");
            }
            _other => {}
        }
    }

    /// The kernel knows what is still to be parted from.
    pub(super) fn check(&self, kernel: &Kernel) {
        let of = |task: &KernelTask| {
            task.pending_stop_hooks.iter().map(|activation| (task.id, *activation)).collect::<Vec<_>>()
        };
        let unpaired: BTreeSet<_> = kernel.tasks().flat_map(of).collect();
        assert!(unpaired.iter().eq(self.greeted.difference(&self.parted)), "greetings and partings do not add up");
    }
}
