//! Random reports from runs.

use protocol::*;

use super::simulated_session::{
    SimulatedSession, call_answered, call_block, quota_parking, text_block, turn_answered, turn_begun,
};
use crate::*;

impl SimulatedSession {
    pub(super) fn report_from_random_run(&mut self) {
        let runs: Vec<RunId> = self.active.values().copied().collect();
        let Some(run) = self.rng.pick(&runs) else {
            return self.send_random_mail();
        };
        let Some(task) = self.kernel.task(run.task) else { return };
        let (turn, work, kind) = (task.turn, task.work.clone(), task.kind);
        if kind.asks_user() {
            return self.report_from_mcp_run(run, turn, &work);
        }
        if !kind.completes_with_answer() {
            if self.rng.one_in(3) {
                self.end_at_random(run);
            }
            return;
        }
        match work {
            _ if self.rng.one_in(12) => self.report_start_hooks(run),
            ActivationWork::NotBegun | ActivationWork::BetweenTurns | ActivationWork::Answered { .. } => {
                self.report_between_turns(run, &work)
            }
            ActivationWork::AwaitingModel(asking) => self.report_on_model_request(run, turn, *asking),
            ActivationWork::CallingTools(calls) => {
                let calls: Vec<_> = calls.into_iter().collect();
                if let Some((call, phase)) = self.rng.pick(&calls) {
                    self.report_on_call(run, turn, call, phase);
                }
            }
        }
    }

    fn report_between_turns(&mut self, run: RunId, work: &ActivationWork) {
        match self.rng.below(10) {
            0..2 => self.try_report(run, RunUpdate::Boundary(BoundaryPoint::BetweenTurns)),
            2 => self.try_report(run, RunUpdate::Boundary(BoundaryPoint::End)),
            3 => {
                let until = Timestamp(self.now.0 + self.rng.below(80));
                let park = match self.rng.below(4) {
                    0 => Parking { until: None, why: ParkReason::Auth },
                    _ => quota_parking(until),
                };
                self.try_report(run, RunUpdate::Park(park));
            }
            4 => {
                let why = self.rng.pick(&[
                    WrapUpReason::Budget,
                    WrapUpReason::Time,
                    WrapUpReason::Turns,
                    WrapUpReason::Reported,
                    WrapUpReason::NoChange,
                ]);
                let why = why.unwrap();
                let compaction = Compaction { messages: 1, digest: None, cause: CompactionCause::ContextFull };
                let unread_result = self.kernel.task(run.task).and_then(|task| task.results.values().next().copied());
                let report = match self.rng.below(13) {
                    9 => RunUpdate::PromptSuggested("and then?".into()),
                    10 => RunUpdate::ItemChanged { list: ListName::Session, item: Box::new(list_item()) },
                    11 => RunUpdate::WorkCheckedOut { path: "/w/1".into(), base: "c0".into() },
                    12 => RunUpdate::WorkSealed { commit: "c1".into(), files: vec!["a".into()] },
                    8 => match unread_result {
                        Some((task, activation)) => RunUpdate::ResultRead { task, activation },
                        None => RunUpdate::ResultRead { task: run.task, activation: Activation(1) },
                    },
                    0 => RunUpdate::WrapUp(why),
                    1..4 => RunUpdate::Compacted(compaction),
                    5 => RunUpdate::AwaitsBudget,
                    4 => RunUpdate::ToolsLoaded { tools: vec!["until".into()], descriptions: Vec::new() },
                    _ => RunUpdate::Intent("looking".into()),
                };
                self.try_report(run, report);
            }
            5..7 if matches!(work, ActivationWork::Answered { .. }) => match self.rng.below(3) {
                0 => self.block_stop(run),
                _ => self.end_at_random(run),
            },
            _ => {
                let quote = self.random_quote();
                self.try_report(run, turn_begun(quote));
            }
        }
    }

    fn report_on_model_request(&mut self, run: RunId, turn: Turn, model_call: ModelCall) {
        let ModelCall { reserved, quoted, max_output: most, .. } = model_call;
        let cost = Cost { tokens: self.rng.below(reserved.tokens + 1), micros: self.rng.below(reserved.micros + 1) };
        let report = match self.rng.below(12) {
            10 => RunUpdate::RaiseReservation { turn, output: self.rng.below(u64::from(most) + 4) as u32 },
            11 => {
                let output = self.rng.below(u64::from(quoted.output) + 1) as u32;
                return self.apply_accepted(KernelInput::Streamed { run, output });
            }
            0 => {
                let charge = self.random_charge(quoted.output);
                let (fault, message) = (ModelFault::Transient, "cut".into());
                RunUpdate::TurnFailed { turn, fault, message, charge, retry: None }
            }
            1 => turn_answered(turn, vec![], cost),
            2..5 => self.with_random_usage(turn_answered(turn, vec![text_block("an answer")], cost)),
            n => {
                let calls = (0..1 + self.rng.below(3)).map(|i| call_block(&format!("c{i}")));
                let mut content: Vec<ContentBlock> = calls.collect();
                if n == 9 {
                    content.push(call_block("c0"));
                }
                turn_answered(turn, content, cost)
            }
        };
        self.try_report(run, report);
    }

    /// The answer with a random usage, which may be far more than estimated.
    fn with_random_usage(&mut self, answer: RunUpdate) -> RunUpdate {
        match answer {
            RunUpdate::TurnAnswered { turn, content, stop, cost, .. } => {
                let model = self.rng.pick(&["script", "another"]).unwrap_or_default().to_owned();
                let usage = Usage { input: self.rng.below(90), output: self.rng.below(50), ..Usage::default() };
                RunUpdate::TurnAnswered { turn, content, stop, usage, cost, model }
            }
            other => other,
        }
    }

    fn report_on_call(&mut self, run: RunId, turn: Turn, call: CallId, phase: CallPhase) {
        if self.rng.one_in(40) {
            return self.try_report(run, RunUpdate::CallsOutOfTime { turn });
        }
        match phase {
            CallPhase::Pending => match self.rng.below(9) {
                8 => self.try_report(run, RunUpdate::CallRewritten { turn, call, input: "{}".into() }),
                0 => self.try_report(run, call_answered(turn, call)),
                1 => self.ask_permission(run, turn, call),
                2..6 => self.spawn(run, turn, call),
                _ => self.try_report(run, RunUpdate::CallStarted { turn, call }),
            },
            CallPhase::Started => match self.rng.below(9) {
                7 => self.ask_plan(run, turn, call),
                8 => self.report_objective(run, turn, call),
                0..3 => self.spawn(run, turn, call),
                3 => self.wait(run, turn, call),
                4 => self.ask_question(run, turn, call),
                5 => self.report_progress(run, turn, call),
                _ => self.try_report(run, call_answered(turn, call)),
            },
            CallPhase::Waiting(_) | CallPhase::Answered if self.rng.one_in(10) => {
                assert!(
                    self.kernel.clone().decide(self.now, KernelInput::Report(run, call_answered(turn, call))).is_err()
                );
            }
            CallPhase::Waiting(_) if self.rng.one_in(2) => {
                self.try_report(run, RunUpdate::ManualWaitOver { turn, call })
            }
            CallPhase::Waiting(_) | CallPhase::Answered => {}
            CallPhase::Asking(ask) => self.act_on_open_ask(run, turn, ask),
            CallPhase::Decided(_) if self.rng.one_in(4) => self.spawn(run, turn, call),
            CallPhase::Decided(_) if self.rng.one_in(2) => self.start_if_allowed(run, turn, call),
            CallPhase::Waited { .. } | CallPhase::Decided(_) => self.try_report(run, call_answered(turn, call)),
        }
    }

    fn spawn(&mut self, run: RunId, turn: Turn, call: CallId) {
        let id = if self.rng.one_in(20) { run.task } else { self.new_id() };
        let kind = self.random_kind(4);
        let mode = if (kind.is_agent() || kind.asks_user()) && self.rng.one_in(2) {
            TaskMode::Sync
        } else {
            TaskMode::Background
        };
        let on_complete =
            if kind.is_agent() && self.rng.one_in(3) { CompletionPolicy::Idle } else { CompletionPolicy::Finish };
        let spec = self.random_spec(kind, mode, on_complete, Some(run.task));
        let until = Some(Timestamp(self.now.0 + self.rng.below(200))).filter(|_| self.rng.one_in(4));
        let digest = DefinitionId(format!("d{}", self.rng.below(3)));
        let definition = AgentDefinition { id: digest, spec: Box::default() };
        let definition = Some(definition).filter(|_| kind.is_agent() && self.rng.one_in(2));
        let (prompt, by) = ("work".into(), Some((run, turn, call)));
        if let Some(refusal) =
            self.try_apply(KernelInput::Spawn(TaskSpawn { id, spec, prompt, by, until, definition, redo_reason: None }))
        {
            self.audit.check_spawn_refusal(&self.limits, self.now, run.task, &refusal);
        }
    }

    /// Reports that the run's end is blocked.
    fn block_stop(&mut self, run: RunId) {
        let by = if self.rng.one_in(2) { StopBlocker::Hook } else { StopBlocker::Expects };
        let reason = format!("not yet: {}", self.log.len());
        self.try_report(run, RunUpdate::StopBlocked { by, reason });
    }

    /// Reports that the run's start hooks ran. A later attempt may report this again.
    fn report_start_hooks(&mut self, run: RunId) {
        self.apply_accepted(KernelInput::Report(run, RunUpdate::StartHooksRan(Vec::new())));
    }

    /// Sends a report that the kernel may refuse.
    pub(super) fn try_report(&mut self, run: RunId, report: RunUpdate) {
        let _refusal = self.try_apply(KernelInput::Report(run, report));
    }

    fn wait(&mut self, run: RunId, turn: Turn, call: CallId) {
        if self.rng.one_in(4) {
            // Without a deadline, only the run itself could end the wait.
            let (on, mode, until) = (Vec::new(), WaitMode::Manual, Some(Timestamp(self.now.0 + self.rng.below(100))));
            return self.try_report(run, RunUpdate::Wait { turn, call, on, mode, until });
        }
        let on = (0..1 + self.rng.below(2)).filter_map(|_| self.random_task()).collect();
        let mode = if self.rng.one_in(2) { WaitMode::Any } else { WaitMode::All };
        let until = Some(Timestamp(self.now.0 + self.rng.below(100))).filter(|_| self.rng.one_in(2));
        self.try_report(run, RunUpdate::Wait { turn, call, on, mode, until });
    }

    fn end_at_random(&mut self, run: RunId) {
        let ending = match self.rng.below(8) {
            0 => RunEnding::Failed { kind: FailKind::Model, message: "broke".into() },
            1 => RunEnding::TimedOut(LimitKind::Turns),
            2 => RunEnding::BudgetExhausted,
            _ => RunEnding::Completed,
        };
        self.try_report(run, RunUpdate::Ended { ending, text: "text".into() });
    }
}

fn list_item() -> ListItem {
    let item = serde_json::json!({
        "id": "1", "subject": "test it", "status": "pending", "version": 1, "createdAt": 0, "updatedAt": 0,
    });
    serde_json::from_value(item).expect("these fields are enough for an item")
}
