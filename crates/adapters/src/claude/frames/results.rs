//! How a turn ended, with what it used and what the session used so far.

use std::collections::BTreeMap;

use protocol::{Cost, FailKind, LimitKind, TaskOutcome, Usage};
use serde_json::{Value, json};
use uuid::Uuid;

use super::usage;

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::claude) enum TurnResult {
    /// With an answer.
    Answered(String),
    /// With an answer of the form that was asked for.
    Structured(Value),
    /// A model did not answer.
    ModelFailed(String),
    /// It reached the most turns there may be.
    MaxTurns(String),
    /// It has spent what there was to spend.
    MaxBudget(String),
    /// The answer is not of the form that was asked for.
    Unstructured(String),
    /// The user broke it off.
    Interrupted,
    /// A hook, or the session itself, stopped it before it began.
    Refused(String),
    /// Something else went wrong.
    Failed(String),
}

impl TurnResult {
    /// How an activation of the session's own agent ended.
    pub(in crate::claude) fn from_outcome(outcome: &TaskOutcome, text: &str, has_schema: bool) -> TurnResult {
        match outcome {
            TaskOutcome::Completed => TurnResult::Answered(text.to_owned()),
            TaskOutcome::Failed { kind: FailKind::Model, message } => TurnResult::ModelFailed(message.clone()),
            TaskOutcome::Failed { kind: FailKind::Contract, message } if has_schema => {
                TurnResult::Unstructured(message.clone())
            }
            TaskOutcome::Failed { message, .. } => TurnResult::Failed(message.clone()),
            TaskOutcome::Cancelled { .. } => TurnResult::Interrupted,
            TaskOutcome::TimedOut { limit: LimitKind::Turns } => {
                TurnResult::MaxTurns("the turn took as many model calls as --max-turns allows".into())
            }
            TaskOutcome::TimedOut { limit: LimitKind::Time } => {
                TurnResult::Failed("the time of the run is over".into())
            }
            TaskOutcome::BudgetExhausted => {
                TurnResult::MaxBudget("the session has spent what --max-budget-usd allows".into())
            }
            TaskOutcome::Lost => TurnResult::Failed("nobody knows how the turn ended".into()),
        }
    }

    /// Whether the process that ends with it ended badly.
    pub(in crate::claude) fn is_failure(&self) -> bool {
        match self {
            TurnResult::Answered(_) | TurnResult::Structured(_) | TurnResult::Interrupted | TurnResult::Refused(_) => {
                false
            }
            TurnResult::ModelFailed(_)
            | TurnResult::MaxTurns(_)
            | TurnResult::MaxBudget(_)
            | TurnResult::Unstructured(_)
            | TurnResult::Failed(_) => true,
        }
    }

    fn subtype(&self) -> &'static str {
        match self {
            // A failure of the model counts as an answer that says so.
            TurnResult::Answered(_)
            | TurnResult::Structured(_)
            | TurnResult::ModelFailed(_)
            | TurnResult::Refused(_) => "success",
            TurnResult::MaxTurns(_) => "error_max_turns",
            TurnResult::MaxBudget(_) => "error_max_budget_usd",
            TurnResult::Unstructured(_) => "error_max_structured_output_retries",
            TurnResult::Interrupted | TurnResult::Failed(_) => "error_during_execution",
        }
    }

    fn terminal_reason(&self, in_tools: bool) -> &'static str {
        match self {
            TurnResult::Answered(_) | TurnResult::Structured(_) => "completed",
            TurnResult::ModelFailed(_) | TurnResult::Failed(_) | TurnResult::Unstructured(_) => "api_error",
            TurnResult::MaxTurns(_) => "max_turns",
            TurnResult::MaxBudget(_) => "budget_exhausted",
            TurnResult::Refused(_) => "hook_stopped",
            TurnResult::Interrupted if in_tools => "aborted_tools",
            TurnResult::Interrupted => "aborted_streaming",
        }
    }

    fn message(self) -> (&'static str, Value) {
        match self {
            TurnResult::Answered(text) | TurnResult::ModelFailed(text) | TurnResult::Refused(text) => {
                ("result", json!(text))
            }
            TurnResult::Structured(answer) => ("result", json!(answer.to_string())),
            TurnResult::Interrupted => ("errors", json!(["the user interrupted the turn"])),
            TurnResult::MaxTurns(text)
            | TurnResult::MaxBudget(text)
            | TurnResult::Unstructured(text)
            | TurnResult::Failed(text) => ("errors", json!([text])),
        }
    }
}

/// What a turn took.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::claude) struct TurnStats {
    /// From its beginning to its end, in milliseconds.
    pub(in crate::claude) millis: u64,
    /// How much of that models took.
    pub(in crate::claude) model_millis: u64,
    /// How many answers of a model it took.
    pub(in crate::claude) turns: u64,
    /// What they used.
    pub(in crate::claude) usage: Usage,
    /// Why the last of them stopped.
    pub(in crate::claude) stop: Option<&'static str>,
    /// What each model used since the adapter was opened.
    pub(in crate::claude) models: BTreeMap<String, (Usage, Cost)>,
    /// Calls that were not permitted.
    pub(in crate::claude) denials: Vec<Value>,
    /// Whether a tool was running when it ended.
    pub(in crate::claude) in_tools: bool,
    /// Whether a background task's end began it, and not the user.
    pub(in crate::claude) is_wake_up: bool,
}

/// The frame that ends a turn.
pub(in crate::claude) fn result_frame(session: Uuid, ending: TurnResult, figures: TurnStats) -> Value {
    let spent = figures.models.values().fold(0_u64, |sum, (_, cost)| sum.saturating_add(cost.micros));
    let models: serde_json::Map<String, Value> =
        figures.models.iter().map(|(name, (used, cost))| (name.clone(), model_usage(*used, *cost))).collect();
    let is_error = ending.is_failure() || ending == TurnResult::Interrupted;
    let mut frame = json!({
        "type": "result",
        "subtype": ending.subtype(),
        "is_error": is_error,
        "api_error_status": null,
        "duration_ms": figures.millis,
        "duration_api_ms": figures.model_millis,
        "num_turns": figures.turns,
        "stop_reason": figures.stop,
        "session_id": session,
        "total_cost_usd": usd(spent),
        "usage": usage(figures.usage),
        "modelUsage": models,
        "permission_denials": figures.denials,
        "terminal_reason": ending.terminal_reason(figures.in_tools),
        "fast_mode_state": "off",
        "uuid": Uuid::now_v7(),
    });
    if figures.is_wake_up {
        frame["origin"] = json!({ "kind": "task-notification" });
    }
    if let TurnResult::Structured(answer) = &ending {
        frame["structured_output"] = answer.clone();
    }
    let (key, words) = ending.message();
    frame[key] = words;
    frame
}

fn model_usage(used: Usage, cost: Cost) -> Value {
    json!({
        "inputTokens": used.input,
        "outputTokens": used.output,
        "cacheReadInputTokens": used.cache_read,
        "cacheCreationInputTokens": used.cache_write,
        "webSearchRequests": 0,
        "costUSD": usd(cost.micros),
        "contextWindow": 0,
        "maxOutputTokens": 0,
    })
}

#[expect(clippy::cast_precision_loss, reason = "money that has been spent is far below 2^53 millionths")]
fn usd(micros: u64) -> f64 {
    micros as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ending_is_one_of_the_family_s_results() {
        let of = |outcome: TaskOutcome| {
            result_frame(Uuid::nil(), TurnResult::from_outcome(&outcome, "answer", true), TurnStats::default())
        };
        let seen = |frame: &Value| (frame["subtype"].clone(), frame["is_error"].clone(), frame["errors"].is_array());
        let model = TaskOutcome::Failed { kind: FailKind::Model, message: "down".into() };
        let contract = TaskOutcome::Failed { kind: FailKind::Contract, message: "no".into() };
        for (outcome, expected) in [
            (TaskOutcome::Completed, ("success", false, false)),
            (model, ("success", true, false)),
            (contract, ("error_max_structured_output_retries", true, true)),
            (TaskOutcome::TimedOut { limit: LimitKind::Turns }, ("error_max_turns", true, true)),
            (TaskOutcome::BudgetExhausted, ("error_max_budget_usd", true, true)),
            (TaskOutcome::Cancelled { by: protocol::CancelBy::User }, ("error_during_execution", true, true)),
            (TaskOutcome::Lost, ("error_during_execution", true, true)),
        ] {
            let frame = of(outcome);
            assert_eq!(seen(&frame), (json!(expected.0), json!(expected.1), expected.2));
            for key in ["duration_ms", "duration_api_ms", "num_turns", "session_id", "usage", "modelUsage", "uuid"] {
                assert!(!frame[key].is_null(), "{key}");
            }
        }
        assert_eq!(of(TaskOutcome::Completed)["result"], "answer");
    }

    #[test]
    fn money_is_told_in_dollars_over_all_models() {
        let cost = |micros| Cost { tokens: 0, micros };
        let models =
            [("a".to_owned(), (Usage::default(), cost(1_500_000))), ("b".to_owned(), (Usage::default(), cost(7)))];
        let figures = TurnStats { models: models.into(), is_wake_up: true, ..TurnStats::default() };
        let frame = result_frame(Uuid::nil(), TurnResult::Answered(String::new()), figures);
        assert_eq!(frame["total_cost_usd"], 1.500_007);
        assert_eq!(frame["origin"]["kind"], "task-notification");
    }
}
