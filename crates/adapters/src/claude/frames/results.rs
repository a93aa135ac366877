//! The result of a turn, with its usage and the session's usage so far.

use std::collections::BTreeMap;

use protocol::{Cost, FailKind, LimitKind, TaskOutcome, Usage};
use serde_json::{Value, json};
use uuid::Uuid;

use super::usage_json;

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::claude) enum TurnResult {
    /// With an answer.
    Answered(String),
    /// With an answer that matches the requested schema.
    Structured(Value),
    /// A model did not answer.
    ModelFailed(String),
    /// It reached the maximum number of turns.
    MaxTurns(String),
    /// It has used up the budget.
    MaxBudget(String),
    /// The answer does not match the requested schema.
    Unstructured(String),
    /// The user interrupted it.
    Interrupted,
    /// A hook or the session stopped it before it began.
    Refused(String),
    /// It failed for another reason.
    Failed(String),
}

impl TurnResult {
    /// Converts the outcome of a root activation.
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
                TurnResult::MaxTurns("the turn reached the limit of --max-turns".into())
            }
            TaskOutcome::TimedOut { limit: LimitKind::Time } => {
                TurnResult::Failed("the run reached its time limit".into())
            }
            TaskOutcome::BudgetExhausted => {
                TurnResult::MaxBudget("the session reached its budget (--max-budget-usd, --task-budget)".into())
            }
            TaskOutcome::Lost => TurnResult::Failed("the outcome of the turn is unknown".into()),
        }
    }

    /// Whether the process exits with a failure after it.
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
            // A failure of the model is reported as an answer.
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

    fn message_field(self) -> (&'static str, Value) {
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

/// Statistics of a turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::claude) struct TurnStats {
    /// Its duration in milliseconds.
    pub(in crate::claude) duration_ms: u64,
    /// The part of it that model requests took.
    pub(in crate::claude) model_ms: u64,
    /// The number of model answers.
    pub(in crate::claude) turns: u64,
    /// Their usage.
    pub(in crate::claude) usage: Usage,
    /// The stop reason of the last one.
    pub(in crate::claude) stop: Option<&'static str>,
    /// The usage of each model since the adapter started.
    pub(in crate::claude) models: BTreeMap<String, (Usage, Cost)>,
    /// Denied calls.
    pub(in crate::claude) denials: Vec<Value>,
    /// Whether a tool was running when it ended.
    pub(in crate::claude) ended_in_tools: bool,
    /// Who caused it: as the client marked its message, or a background task that ended.
    pub(in crate::claude) origin: Option<Value>,
}

/// The frame that ends a turn.
pub(in crate::claude) fn result_frame(session: Uuid, result: TurnResult, stats: TurnStats) -> Value {
    let spent = stats.models.values().fold(0_u64, |sum, (_, cost)| sum.saturating_add(cost.micros));
    let is_error = result.is_failure() || result == TurnResult::Interrupted;
    let mut frame = json!({
        "type": "result",
        "subtype": result.subtype(),
        "is_error": is_error,
        "api_error_status": null,
        "duration_ms": stats.duration_ms,
        "duration_api_ms": stats.model_ms,
        "num_turns": stats.turns,
        "stop_reason": stats.stop,
        "session_id": session,
        "total_cost_usd": usd(spent),
        "usage": usage_json(stats.usage),
        "modelUsage": models_json(&stats.models),
        "permission_denials": stats.denials,
        "terminal_reason": result.terminal_reason(stats.ended_in_tools),
        "fast_mode_state": "off",
        "uuid": Uuid::now_v7(),
    });
    if let Some(origin) = stats.origin {
        frame["origin"] = origin;
    }
    if let TurnResult::Structured(answer) = &result {
        frame["structured_output"] = answer.clone();
    }
    let (key, value) = result.message_field();
    frame[key] = value;
    frame
}

/// The usage and cost of each model.
pub(in crate::claude) fn models_json(models: &BTreeMap<String, (Usage, Cost)>) -> Value {
    models.iter().map(|(name, (used, cost))| (name.clone(), model_usage(*used, *cost))).collect()
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

/// Dollars, as the SDK writes them.
#[expect(clippy::cast_precision_loss, reason = "costs are far below 2^53 millionths")]
pub(in crate::claude) fn usd(micros: u64) -> f64 {
    micros as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_map_to_claude_result_subtypes() {
        let result_of = |outcome: TaskOutcome| {
            result_frame(Uuid::nil(), TurnResult::from_outcome(&outcome, "answer", true), TurnStats::default())
        };
        let summary = |frame: &Value| (frame["subtype"].clone(), frame["is_error"].clone(), frame["errors"].is_array());
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
            let frame = result_of(outcome);
            assert_eq!(summary(&frame), (json!(expected.0), json!(expected.1), expected.2));
            for key in ["duration_ms", "duration_api_ms", "num_turns", "session_id", "usage", "modelUsage", "uuid"] {
                assert!(!frame[key].is_null(), "{key}");
            }
        }
        assert_eq!(result_of(TaskOutcome::Completed)["result"], "answer");
    }

    #[test]
    fn results_sum_the_cost_of_all_models_in_dollars() {
        let cost = |micros| Cost { tokens: 0, micros };
        let models =
            [("a".to_owned(), (Usage::default(), cost(1_500_000))), ("b".to_owned(), (Usage::default(), cost(7)))];
        let origin = Some(json!({ "kind": "human" }));
        let stats = TurnStats { models: models.into(), origin, ..TurnStats::default() };
        let frame = result_frame(Uuid::nil(), TurnResult::Answered(String::new()), stats);
        assert_eq!(frame["total_cost_usd"], 1.500_007);
        assert_eq!(frame["origin"]["kind"], "human");
    }
}
