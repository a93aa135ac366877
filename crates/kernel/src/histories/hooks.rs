//! Checks that start hooks and stop hooks run once per activation, and that the end of an activation is blocked only as
//! often as the limits allow.

use std::collections::{BTreeMap, BTreeSet};

use protocol::*;

use crate::*;

#[derive(Default)]
pub(super) struct HookAudit {
    running: BTreeMap<TaskId, Activation>,
    start_hooks_ran: BTreeSet<(TaskId, Activation)>,
    stop_hooks_ran: BTreeSet<(TaskId, Activation)>,
    stop_blocks: BTreeMap<TaskId, (u32, u32)>,
}

impl HookAudit {
    pub(super) fn read(&mut self, id: TaskId, event: &Event, limits: &SessionLimits) {
        match event {
            Event::ActivationStarted { activation, attempt } => {
                self.running.insert(id, *activation);
                if *attempt == Attempt(1) {
                    self.stop_blocks.insert(id, (0, 0));
                }
            }
            Event::StartHooksRan { activation, .. } => {
                assert_eq!(self.running.get(&id), Some(activation), "{id} ran start hooks of another activation");
                assert!(self.start_hooks_ran.insert((id, *activation)), "{id} ran its start hooks twice");
            }
            Event::StopHooksRan { activation } => {
                let key = (id, *activation);
                assert!(self.start_hooks_ran.contains(&key), "{id} ran stop hooks without start hooks");
                assert!(self.stop_hooks_ran.insert(key), "{id} ran its stop hooks twice");
            }
            // The original session runs the stop hooks of activations from before the fork.
            Event::SessionForked { .. } => self.stop_hooks_ran.extend(&self.start_hooks_ran),
            Event::StopBlocked { by, .. } => {
                let (hook_blocks, repairs) = self.stop_blocks.entry(id).or_default();
                match by {
                    StopBlocker::Hook => *hook_blocks += 1,
                    StopBlocker::Expects => *repairs += 1,
                }
                let is_allowed = *hook_blocks <= limits.max_stop_blocks && *repairs <= limits.max_repairs;
                assert!(is_allowed, "the end of {id} is blocked too often");
            }
            _other => {}
        }
    }

    /// Checks that the kernel knows which stop hooks have not run yet.
    pub(super) fn check(&self, kernel: &Kernel) {
        let pending_of = |task: &KernelTask| {
            task.pending_stop_hooks.iter().map(|activation| (task.id, *activation)).collect::<Vec<_>>()
        };
        let pending: BTreeSet<_> = kernel.tasks().flat_map(pending_of).collect();
        assert!(
            pending.iter().eq(self.start_hooks_ran.difference(&self.stop_hooks_ran)),
            "the pending stop hooks are wrong"
        );
    }
}
