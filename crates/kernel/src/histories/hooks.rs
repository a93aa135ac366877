//! Test checks: in every random history, start hooks and stop hooks run once per activation, and the end of an
//! activation is blocked only as often as the limits allow.

use std::collections::{BTreeMap, BTreeSet};

use protocol::*;

use crate::*;

/// The hooks and blocked ends according to the log.
#[derive(Default)]
pub(super) struct HookAudit {
    latest_activation: BTreeMap<TaskId, Activation>,
    start_hooks_ran: BTreeSet<(TaskId, Activation)>,
    stop_hooks_ran: BTreeSet<(TaskId, Activation)>,
    /// How often hooks and expectations blocked the end of the latest activation.
    stop_blocks: BTreeMap<TaskId, (u32, u32)>,
}

impl HookAudit {
    pub(super) fn check_event(&mut self, id: TaskId, event: &Event, limits: &SessionLimits) {
        match event {
            Event::ActivationStarted { activation, attempt } => {
                self.latest_activation.insert(id, *activation);
                if *attempt == Attempt(1) {
                    self.stop_blocks.insert(id, (0, 0));
                }
            }
            Event::StartHooksRan { activation, .. } => {
                assert_eq!(
                    self.latest_activation.get(&id),
                    Some(activation),
                    "{id} ran start hooks of another activation"
                );
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
                let (hook_blocks, expectation_retries) = self.stop_blocks.entry(id).or_default();
                match by {
                    StopBlocker::Hook => *hook_blocks += 1,
                    StopBlocker::Expects => *expectation_retries += 1,
                }
                let is_allowed =
                    *hook_blocks <= limits.max_stop_blocks && *expectation_retries <= limits.max_expectation_retries;
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
