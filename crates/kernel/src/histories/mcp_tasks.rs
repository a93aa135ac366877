//! Tasks of MCP servers in random histories: their runs report what the server says, ask the user themselves, and end in
//! every way.

use protocol::*;

use super::simulated_session::{SimulatedSession, call_answered};
use crate::*;

impl SimulatedSession {
    /// Reports from a run of a task that asks the user itself.
    pub(super) fn report_from_mcp_run(&mut self, run: RunId, turn: Turn, work: &ActivationWork) {
        let calls: Vec<(CallId, CallPhase)> = work.calls().map(|(call, phase)| (call.clone(), phase.clone())).collect();
        let open = self.rng.pick(&calls).filter(|(_, phase)| *phase != CallPhase::Answered);
        match (self.rng.below(6), open) {
            (0, _) => {
                let report = Box::new(self.random_report());
                self.apply_accepted(KernelInput::Report(run, RunUpdate::McpReported(report)));
            }
            (1, _) => {
                let call = CallId(format!("q{}", self.all_asks.len()));
                self.ask_question(run, turn, call);
            }
            (2, _) => self.end_mcp_run(run),
            (3, Some((call, CallPhase::Decided(_)))) => {
                self.apply_accepted(KernelInput::Report(run, call_answered(turn, call)));
            }
            (4, Some((call, phase))) => {
                let ask = Ask {
                    id: AskId("again".into()),
                    call: call.clone(),
                    subject: AskSubject::Question { question: "again?".into(), choices: Vec::new() },
                    until_at: None,
                };
                let again = self.try_apply(KernelInput::Report(run, RunUpdate::Ask { turn, ask }));
                assert_eq!(again, Some(InputRefusal::WrongCallPhase(call)), "{phase:?}");
            }
            (_, Some((_, CallPhase::Asking(ask)))) => self.act_on_open_ask(run, turn, ask),
            (_, _) => {}
        }
    }

    pub(super) fn report_progress(&mut self, run: RunId, turn: Turn, call: CallId) {
        let progress = McpProgress { done: self.rng.below(9).into(), total: None, message: None };
        self.try_report(run, RunUpdate::CallProgressed { turn, call, tool: "s.t".into(), progress });
    }

    fn end_mcp_run(&mut self, run: RunId) {
        let ending = match self.rng.below(5) {
            0 => RunEnding::Failed { kind: FailKind::Reported, message: "no".into() },
            1 => RunEnding::TimedOut(LimitKind::Time),
            2 => RunEnding::CancelledByServer,
            3 => RunEnding::Lost,
            _ => RunEnding::Completed,
        };
        self.apply_accepted(KernelInput::Report(run, RunUpdate::Ended { ending, text: "text".into() }));
    }

    fn random_report(&mut self) -> McpTaskReport {
        let deadline_at = Timestamp(self.now.0 + self.rng.below(1_000));
        let (server, tool, started_at) = ("s".into(), "t".into(), self.now);
        let remote = (self.rng.below(2) == 0).then(|| McpRemoteTask {
            id: "1".into(),
            form: McpTaskForm::Extension,
            progress_token: "c1".into(),
            ttl_ms: None,
            poll_interval_ms: None,
        });
        let spec = McpTaskSpec { server, definition: None, tool, remote, started_at, deadline_at };
        McpTaskReport { polled_at: Some(self.now), ..McpTaskReport::new(spec, self.now) }
    }
}
