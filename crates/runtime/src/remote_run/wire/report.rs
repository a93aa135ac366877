//! What a run reports.

use kernel::{BoundaryPoint, FailedCallCharge, Parking, RunEnding, RunUpdate};
use protocol::{
    CallId, Compaction, ContentBlock, Cost, Evidence, FailKind, LimitKind, ModelFault, ParkReason, Price, RetryPlan,
    StopBlocker, StopReason, Timestamp, ToolResult, Turn, TurnQuote, Usage, WrapUpReason,
};
use serde::{Deserialize, Serialize};

use crate::run_requests::RunInput;

/// An input of a run. What only calls at the session report has no form here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(in crate::remote_run) enum WireInput {
    BoundaryBetweenTurns,
    BoundaryAtEnd,
    TurnBegun {
        model: String,
        quote: WireQuote,
    },
    TurnAnswered {
        turn: Turn,
        content: Vec<ContentBlock>,
        stop: StopReason,
        usage: Usage,
        cost: Cost,
        model: String,
    },
    /// `used_output` are the tokens that had arrived; absent if the model was never reached.
    TurnFailed {
        turn: Turn,
        fault: ModelFault,
        message: String,
        used_output: Option<u32>,
        retry: Option<RetryPlan>,
    },
    RaiseReservation {
        turn: Turn,
        output: u32,
    },
    AwaitsBudget,
    WrapUp {
        why: WrapUpReason,
    },
    Compacted {
        compaction: Compaction,
    },
    CallRewritten {
        turn: Turn,
        call: CallId,
        input: String,
    },
    CallStarted {
        turn: Turn,
        call: CallId,
    },
    CallAnswered {
        turn: Turn,
        call: CallId,
        answer: ToolResult,
        evidence: Vec<Evidence>,
    },
    CallsOutOfTime {
        turn: Turn,
    },
    PromptSuggested {
        prompt: String,
    },
    Park {
        until_at: Option<Timestamp>,
        why: ParkReason,
    },
    StartHooksRan {
        context: Vec<String>,
    },
    StopBlocked {
        by: StopBlocker,
        reason: String,
    },
    WorkSealed {
        commit: String,
        files: Vec<String>,
    },
    Completed {
        text: String,
    },
    Failed {
        kind: FailKind,
        message: String,
        text: String,
    },
    TimedOut {
        limit: LimitKind,
        text: String,
    },
    BudgetExhausted {
        text: String,
    },
    StopHooksRan,
    Interrupt,
    Note {
        text: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::remote_run) struct WireQuote {
    input: u64,
    min_output: u32,
    expected_output: u32,
    max_output: u32,
    estimated: u64,
    price: Option<Price>,
    last_turn_reserve: Cost,
}

impl WireInput {
    /// The wire form; none for an input that no run makes itself.
    pub(in crate::remote_run) fn of(input: RunInput) -> Option<WireInput> {
        Some(match input {
            RunInput::StopHooksRan => WireInput::StopHooksRan,
            RunInput::Note(text) => WireInput::Note { text },
            RunInput::Interrupt => WireInput::Interrupt,
            RunInput::Update(update) => match update {
                RunUpdate::Boundary(BoundaryPoint::BetweenTurns) => WireInput::BoundaryBetweenTurns,
                RunUpdate::Boundary(BoundaryPoint::End) => WireInput::BoundaryAtEnd,
                RunUpdate::TurnBegun { model, quote } => WireInput::TurnBegun { model, quote: quote.into() },
                RunUpdate::TurnAnswered { turn, content, stop, usage, cost, model } => {
                    WireInput::TurnAnswered { turn, content, stop, usage, cost, model }
                }
                RunUpdate::TurnFailed { turn, fault, message, charge, retry } => {
                    let used_output = match charge {
                        FailedCallCharge::Nothing => None,
                        FailedCallCharge::Used { output } => Some(output),
                    };
                    WireInput::TurnFailed { turn, fault, message, used_output, retry }
                }
                RunUpdate::RaiseReservation { turn, output } => WireInput::RaiseReservation { turn, output },
                RunUpdate::AwaitsBudget => WireInput::AwaitsBudget,
                RunUpdate::WrapUp(why) => WireInput::WrapUp { why },
                RunUpdate::Compacted(compaction) => WireInput::Compacted { compaction },
                RunUpdate::CallRewritten { turn, call, input } => WireInput::CallRewritten { turn, call, input },
                RunUpdate::CallStarted { turn, call } => WireInput::CallStarted { turn, call },
                RunUpdate::CallAnswered { turn, call, answer, evidence } => {
                    WireInput::CallAnswered { turn, call, answer, evidence }
                }
                RunUpdate::CallsOutOfTime { turn } => WireInput::CallsOutOfTime { turn },
                RunUpdate::PromptSuggested(prompt) => WireInput::PromptSuggested { prompt },
                RunUpdate::Park(Parking { until, why }) => WireInput::Park { until_at: until, why },
                RunUpdate::StartHooksRan(context) => WireInput::StartHooksRan { context },
                RunUpdate::StopBlocked { by, reason } => WireInput::StopBlocked { by, reason },
                RunUpdate::WorkSealed { commit, files } => WireInput::WorkSealed { commit, files },
                RunUpdate::Ended { ending: RunEnding::Completed, text } => WireInput::Completed { text },
                RunUpdate::Ended { ending: RunEnding::Failed { kind, message }, text } => {
                    WireInput::Failed { kind, message, text }
                }
                RunUpdate::Ended { ending: RunEnding::TimedOut(limit), text } => WireInput::TimedOut { limit, text },
                RunUpdate::Ended { ending: RunEnding::BudgetExhausted, text } => WireInput::BudgetExhausted { text },
                RunUpdate::Ended { ending: RunEnding::CancelledByServer | RunEnding::Lost, .. }
                | RunUpdate::McpReported(_)
                | RunUpdate::CallProgressed { .. }
                | RunUpdate::ResultRead { .. }
                | RunUpdate::Wait { .. }
                | RunUpdate::Ask { .. }
                | RunUpdate::ManualWaitOver { .. }
                | RunUpdate::ItemChanged { .. }
                | RunUpdate::Objective { .. }
                | RunUpdate::Intent(_)
                | RunUpdate::ToolsLoaded { .. }
                | RunUpdate::WorkCheckedOut { .. } => return None,
            },
        })
    }
}

impl From<WireInput> for RunInput {
    fn from(input: WireInput) -> RunInput {
        let ended = |ending, text| RunUpdate::Ended { ending, text };
        RunInput::Update(match input {
            WireInput::StopHooksRan => return RunInput::StopHooksRan,
            WireInput::Note { text } => return RunInput::Note(text),
            WireInput::Interrupt => return RunInput::Interrupt,
            WireInput::BoundaryBetweenTurns => RunUpdate::Boundary(BoundaryPoint::BetweenTurns),
            WireInput::BoundaryAtEnd => RunUpdate::Boundary(BoundaryPoint::End),
            WireInput::TurnBegun { model, quote } => RunUpdate::TurnBegun { model, quote: quote.into() },
            WireInput::TurnAnswered { turn, content, stop, usage, cost, model } => {
                RunUpdate::TurnAnswered { turn, content, stop, usage, cost, model }
            }
            WireInput::TurnFailed { turn, fault, message, used_output, retry } => {
                let charge = match used_output {
                    None => FailedCallCharge::Nothing,
                    Some(output) => FailedCallCharge::Used { output },
                };
                RunUpdate::TurnFailed { turn, fault, message, charge, retry }
            }
            WireInput::RaiseReservation { turn, output } => RunUpdate::RaiseReservation { turn, output },
            WireInput::AwaitsBudget => RunUpdate::AwaitsBudget,
            WireInput::WrapUp { why } => RunUpdate::WrapUp(why),
            WireInput::Compacted { compaction } => RunUpdate::Compacted(compaction),
            WireInput::CallRewritten { turn, call, input } => RunUpdate::CallRewritten { turn, call, input },
            WireInput::CallStarted { turn, call } => RunUpdate::CallStarted { turn, call },
            WireInput::CallAnswered { turn, call, answer, evidence } => {
                RunUpdate::CallAnswered { turn, call, answer, evidence }
            }
            WireInput::CallsOutOfTime { turn } => RunUpdate::CallsOutOfTime { turn },
            WireInput::PromptSuggested { prompt } => RunUpdate::PromptSuggested(prompt),
            WireInput::Park { until_at, why } => RunUpdate::Park(Parking { until: until_at, why }),
            WireInput::StartHooksRan { context } => RunUpdate::StartHooksRan(context),
            WireInput::StopBlocked { by, reason } => RunUpdate::StopBlocked { by, reason },
            WireInput::WorkSealed { commit, files } => RunUpdate::WorkSealed { commit, files },
            WireInput::Completed { text } => ended(RunEnding::Completed, text),
            WireInput::Failed { kind, message, text } => ended(RunEnding::Failed { kind, message }, text),
            WireInput::TimedOut { limit, text } => ended(RunEnding::TimedOut(limit), text),
            WireInput::BudgetExhausted { text } => ended(RunEnding::BudgetExhausted, text),
        })
    }
}

impl From<TurnQuote> for WireQuote {
    fn from(quote: TurnQuote) -> WireQuote {
        let TurnQuote { input, min_output, expected_output, max_output, estimated, price, last_turn_reserve } = quote;
        WireQuote { input, min_output, expected_output, max_output, estimated, price, last_turn_reserve }
    }
}

impl From<WireQuote> for TurnQuote {
    fn from(quote: WireQuote) -> TurnQuote {
        let WireQuote { input, min_output, expected_output, max_output, estimated, price, last_turn_reserve } = quote;
        TurnQuote { input, min_output, expected_output, max_output, estimated, price, last_turn_reserve }
    }
}
