//! The orderly end of a random history.

use protocol::*;

use super::simulated_session::{FREE_QUOTE, SimulatedSession, call_answered, text_block, turn_answered, turn_begun};
use crate::*;

impl SimulatedSession {
    /// Lets every run finish its open turn or calls and end, until nothing is left to run.
    pub(super) fn drain(&mut self) {
        self.apply_if_accepted(KernelInput::Resume);
        self.stop_orphans();
        for _ in 0..5_000 {
            let Some(run) = self.active.values().next_back().copied() else { break };
            self.finish_step(run);
        }
        if let Some(at) = self.kernel.next_alarm() {
            self.now = at.max(self.now);
            self.tick();
            self.drain();
        }
        self.run_all_stop_hooks();
    }

    fn finish_step(&mut self, run: RunId) {
        let Some(task) = self.kernel.task(run.task).filter(|task| task.is_running() && task.run_id() == run) else {
            self.active.remove(&run.task);
            return;
        };
        let (turn, kind) = (task.turn, task.kind);
        // A last turn that is due is always taken.
        let is_last_turn_due = task.work.is_between_calls() && matches!(task.last_turn, Some(LastTurn::Due(_)));
        let work = if is_last_turn_due { ActivationWork::BetweenTurns } else { task.work.clone() };
        if !kind.completes_with_answer() {
            self.apply_accepted(KernelInput::Report(
                run,
                RunUpdate::Ended { ending: RunEnding::Completed, text: "ran".into() },
            ));
            return;
        }
        match work {
            ActivationWork::AwaitingModel(_) => {
                self.apply_accepted(KernelInput::Report(run, turn_answered(turn, vec![text_block("done")], Cost::ZERO)))
            }
            ActivationWork::CallingTools(calls) => {
                let open = calls.into_iter().find(|(_, phase)| {
                    matches!(
                        phase,
                        CallPhase::Pending | CallPhase::Started | CallPhase::Waited { .. } | CallPhase::Decided(_)
                    )
                });
                match open {
                    Some((call, _)) => self.apply_accepted(KernelInput::Report(run, call_answered(turn, call))),
                    None if self.deny_open_ask(run) => {}
                    None => self.let_another_run_work(run),
                }
            }
            ActivationWork::Answered { text: true } => {
                self.apply_accepted(KernelInput::Report(run, RunUpdate::Boundary(BoundaryPoint::End)));
                let ended = RunUpdate::Ended { ending: RunEnding::Completed, text: "done".into() };
                self.apply_accepted(KernelInput::Report(run, ended));
            }
            ActivationWork::NotBegun | ActivationWork::BetweenTurns | ActivationWork::Answered { text: false } => {
                match self.kernel.decide(self.now, KernelInput::Report(run, turn_begun(FREE_QUOTE))) {
                    Ok(effects) => self.perform(effects),
                    Err(InputRefusal::NoSlot) => self.let_another_run_work(run),
                    Err(_) => {
                        // Unread mail would wake the task again.
                        self.apply_accepted(KernelInput::Report(run, RunUpdate::Boundary(BoundaryPoint::BetweenTurns)));
                        let ending = RunEnding::TimedOut(LimitKind::Turns);
                        self.apply_accepted(KernelInput::Report(run, RunUpdate::Ended { ending, text: String::new() }));
                    }
                }
            }
        }
    }

    /// Lets another run work while this one can only wait. If there is none, the next alarm or an open ask must
    /// continue the session; otherwise it would be stuck.
    fn let_another_run_work(&mut self, waiting: RunId) {
        let next = self.active.values().copied().find(|run| *run != waiting && self.can_work(*run));
        match next {
            Some(run) => self.finish_step(run),
            None => match self.kernel.next_alarm() {
                Some(at) => {
                    self.now = at.max(self.now);
                    self.tick();
                }
                None if self.stop_orphans() => {}
                // Only a decision on an open ask can continue the session.
                None => {
                    let others: Vec<RunId> = self.active.values().copied().collect();
                    let decided = others.into_iter().any(|run| self.deny_open_ask(run));
                    assert!(decided, "deadlock: {waiting} waits and no other run can work");
                }
            },
        }
    }

    pub(super) fn can_work(&self, run: RunId) -> bool {
        self.kernel.task(run.task).is_some_and(|task| {
            // A task without an answer of its own may end while it asks.
            let stuck = task.kind.completes_with_answer()
                && matches!(task.work, ActivationWork::CallingTools(_))
                && task.work.calls().all(|(_, phase)| {
                    matches!(phase, CallPhase::Waiting(_) | CallPhase::Asking(_) | CallPhase::Answered)
                });
            let may_proceed = task.phase == TaskPhase::Running(SlotStatus::Holding) || !task.work.is_between_calls();
            task.is_running() && task.run_id() == run && may_proceed && !stuck
        })
    }
}
