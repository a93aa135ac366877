//! An orderly end: every run answers what is open and ends, until nothing is left to run.

use protocol::*;

use super::world::{FREE, World, answer, answered, begin, say};
use crate::*;

impl World {
    /// Lets everything end in order: every run answers what is open and ends, until nothing is left to run.
    pub(super) fn drain(&mut self) {
        self.must_or_closed(Input::Resume);
        for _ in 0..5_000 {
            let Some(run) = self.active.values().next_back().copied() else { break };
            self.finish_step(run);
        }
        if let Some(at) = self.kernel.alarm() {
            self.now = at.max(self.now);
            self.tick();
            self.drain();
        }
        self.part_from_all();
    }

    fn finish_step(&mut self, run: Run) {
        let Some(task) = self.kernel.task(run.task).filter(|task| task.is_running() && task.run() == run) else {
            self.active.remove(&run.task);
            return;
        };
        let (turn, kind) = (task.turn, task.kind);
        // A last turn that is due is taken, whatever was said before.
        let due = task.work.is_between() && matches!(task.last, Some(Last::Due(_)));
        let work = if due { Work::Boundary } else { task.work.clone() };
        if kind == Kind::Shell {
            self.must(Input::Report(run, Report::Ended { ending: Ending::Completed, text: "ran".into() }));
            return;
        }
        match work {
            Work::Asking(_) => self.must(Input::Report(run, answer(turn, vec![say("done")], Cost::ZERO))),
            Work::Acting(calls) => {
                let open = calls.into_iter().find(|(_, phase)| {
                    matches!(
                        phase,
                        CallPhase::Pending | CallPhase::Started | CallPhase::Waited { .. } | CallPhase::Decided(_)
                    )
                });
                match open {
                    Some((call, _)) => self.must(Input::Report(run, answered(turn, call))),
                    None if self.decide_for(run) => {}
                    None => self.finish_one_below(run),
                }
            }
            Work::Answered { text: true } => {
                self.must(Input::Report(run, Report::Boundary(Point::End)));
                let ended = Report::Ended { ending: Ending::Completed, text: "done".into() };
                self.must(Input::Report(run, ended));
            }
            Work::Fresh | Work::Boundary | Work::Answered { text: false } => {
                match self.kernel.apply(self.now, Input::Report(run, begin(FREE))) {
                    Ok(effects) => self.perform(effects),
                    Err(Refusal::NoSlot) => self.finish_one_below(run),
                    Err(_) => {
                        // Mail that is not heard would wake the task again, for the same end.
                        self.must(Input::Report(run, Report::Boundary(Point::Between)));
                        let ending = Ending::TimedOut(Limit::Turns);
                        self.must(Input::Report(run, Report::Ended { ending, text: String::new() }));
                    }
                }
            }
        }
    }

    /// The run can only wait: lets another one work, which must exist or the session would be stuck.
    fn finish_one_below(&mut self, waiting: Run) {
        let next = self.active.values().copied().find(|run| *run != waiting && self.can_work(*run));
        match next {
            Some(run) => self.finish_step(run),
            None => match self.kernel.alarm() {
                Some(at) => {
                    self.now = at.max(self.now);
                    self.tick();
                }
                // A person decides in the end what another one waits for.
                None => {
                    let others: Vec<Run> = self.active.values().copied().collect();
                    let decided = others.into_iter().any(|run| self.decide_for(run));
                    assert!(decided, "deadlock: {waiting} waits and nobody can work");
                }
            },
        }
    }

    pub(super) fn can_work(&self, run: Run) -> bool {
        self.kernel.task(run.task).is_some_and(|task| {
            let stuck =
                task.work.calls().all(|(_, phase)| {
                    matches!(phase, CallPhase::Waiting(_) | CallPhase::Asking(_) | CallPhase::Answered)
                }) && matches!(task.work, Work::Acting(_));
            let footed = task.phase == Phase::Running(Footing::Slot) || !task.work.is_between();
            task.is_running() && task.run() == run && footed && !stuck
        })
    }
}
