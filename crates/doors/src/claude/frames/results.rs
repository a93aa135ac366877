//! How a turn ended, with what it used and what the session used so far.

use std::collections::BTreeMap;

use protocol::{Cost, FailKind, Limit, Outcome, Usage};
use serde_json::{Value, json};
use uuid::Uuid;

use super::usage;

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::claude) enum Ending {
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

impl Ending {
    /// How an activation of the session's own agent ended.
    pub(in crate::claude) fn of(outcome: &Outcome, text: &str, has_schema: bool) -> Ending {
        match outcome {
            Outcome::Completed => Ending::Answered(text.to_owned()),
            Outcome::Failed { kind: FailKind::Model, message } => Ending::ModelFailed(message.clone()),
            Outcome::Failed { kind: FailKind::Contract, message } if has_schema => {
                Ending::Unstructured(message.clone())
            }
            Outcome::Failed { message, .. } => Ending::Failed(message.clone()),
            Outcome::Cancelled { .. } => Ending::Interrupted,
            Outcome::TimedOut { limit: Limit::Turns } => {
                Ending::MaxTurns("the turn took as many model calls as --max-turns allows".into())
            }
            Outcome::TimedOut { limit: Limit::Time } => Ending::Failed("the time of the run is over".into()),
            Outcome::BudgetExhausted => Ending::MaxBudget("the session has spent what --max-budget-usd allows".into()),
            Outcome::Lost => Ending::Failed("nobody knows how the turn ended".into()),
        }
    }

    /// Whether the process that ends with it ended badly.
    pub(in crate::claude) fn is_failure(&self) -> bool {
        match self {
            Ending::Answered(_) | Ending::Structured(_) | Ending::Interrupted | Ending::Refused(_) => false,
            Ending::ModelFailed(_)
            | Ending::MaxTurns(_)
            | Ending::MaxBudget(_)
            | Ending::Unstructured(_)
            | Ending::Failed(_) => true,
        }
    }

    fn subtype(&self) -> &'static str {
        match self {
            // A failure of the model counts as an answer that says so.
            Ending::Answered(_) | Ending::Structured(_) | Ending::ModelFailed(_) | Ending::Refused(_) => "success",
            Ending::MaxTurns(_) => "error_max_turns",
            Ending::MaxBudget(_) => "error_max_budget_usd",
            Ending::Unstructured(_) => "error_max_structured_output_retries",
            Ending::Interrupted | Ending::Failed(_) => "error_during_execution",
        }
    }

    fn terminal_reason(&self, in_tools: bool) -> &'static str {
        match self {
            Ending::Answered(_) | Ending::Structured(_) => "completed",
            Ending::ModelFailed(_) | Ending::Failed(_) | Ending::Unstructured(_) => "api_error",
            Ending::MaxTurns(_) => "max_turns",
            Ending::MaxBudget(_) => "budget_exhausted",
            Ending::Refused(_) => "hook_stopped",
            Ending::Interrupted if in_tools => "aborted_tools",
            Ending::Interrupted => "aborted_streaming",
        }
    }

    fn words(self) -> (&'static str, Value) {
        match self {
            Ending::Answered(text) | Ending::ModelFailed(text) | Ending::Refused(text) => ("result", json!(text)),
            Ending::Structured(answer) => ("result", json!(answer.to_string())),
            Ending::Interrupted => ("errors", json!(["the user interrupted the turn"])),
            Ending::MaxTurns(text) | Ending::MaxBudget(text) | Ending::Unstructured(text) | Ending::Failed(text) => {
                ("errors", json!([text]))
            }
        }
    }
}

/// What a turn took.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::claude) struct Figures {
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
    /// What each model used since the door was opened.
    pub(in crate::claude) models: BTreeMap<String, (Usage, Cost)>,
    /// Calls that were not permitted.
    pub(in crate::claude) denials: Vec<Value>,
    /// Whether a tool was running when it ended.
    pub(in crate::claude) in_tools: bool,
    /// Whether a background task's end began it, and not the user.
    pub(in crate::claude) is_wake_up: bool,
}

/// The frame that ends a turn.
pub(in crate::claude) fn result(session: Uuid, ending: Ending, figures: Figures) -> Value {
    let spent = figures.models.values().fold(0_u64, |sum, (_, cost)| sum.saturating_add(cost.micros));
    let models: serde_json::Map<String, Value> =
        figures.models.iter().map(|(name, (used, cost))| (name.clone(), model_usage(*used, *cost))).collect();
    let is_error = ending.is_failure() || ending == Ending::Interrupted;
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
    if let Ending::Structured(answer) = &ending {
        frame["structured_output"] = answer.clone();
    }
    let (key, words) = ending.words();
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
    fn d2_every_ending_is_one_of_the_family_s_results() {
        let of = |outcome: Outcome| result(Uuid::nil(), Ending::of(&outcome, "answer", true), Figures::default());
        let seen = |frame: &Value| (frame["subtype"].clone(), frame["is_error"].clone(), frame["errors"].is_array());
        let model = Outcome::Failed { kind: FailKind::Model, message: "down".into() };
        let contract = Outcome::Failed { kind: FailKind::Contract, message: "no".into() };
        for (outcome, expected) in [
            (Outcome::Completed, ("success", false, false)),
            (model, ("success", true, false)),
            (contract, ("error_max_structured_output_retries", true, true)),
            (Outcome::TimedOut { limit: Limit::Turns }, ("error_max_turns", true, true)),
            (Outcome::BudgetExhausted, ("error_max_budget_usd", true, true)),
            (Outcome::Cancelled { by: protocol::CancelBy::User }, ("error_during_execution", true, true)),
            (Outcome::Lost, ("error_during_execution", true, true)),
        ] {
            let frame = of(outcome);
            assert_eq!(seen(&frame), (json!(expected.0), json!(expected.1), expected.2));
            for key in ["duration_ms", "duration_api_ms", "num_turns", "session_id", "usage", "modelUsage", "uuid"] {
                assert!(!frame[key].is_null(), "{key}");
            }
        }
        assert_eq!(of(Outcome::Completed)["result"], "answer");
    }

    #[test]
    fn money_is_told_in_dollars_over_all_models() {
        let cost = |micros| Cost { tokens: 0, micros };
        let models =
            [("a".to_owned(), (Usage::default(), cost(1_500_000))), ("b".to_owned(), (Usage::default(), cost(7)))];
        let figures = Figures { models: models.into(), is_wake_up: true, ..Figures::default() };
        let frame = result(Uuid::nil(), Ending::Answered(String::new()), figures);
        assert_eq!(frame["total_cost_usd"], 1.500_007);
        assert_eq!(frame["origin"]["kind"], "task-notification");
    }
}
