//! Statistics of a client's turn, from its message to the result frame, and usage since the adapter started.

use std::collections::BTreeMap;

use protocol::{Cost, Envelope, Event, StopReason, TaskId, Timestamp, ToolResultStatus, Usage};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::frames::{TurnStats, models_json, stop_reason, usd};

/// Collects the statistics of a client's turn; `turns` counts the model turns in it.
#[derive(Debug)]
pub(super) struct TurnStatsCollector {
    root: TaskId,
    models: BTreeMap<String, (Usage, Cost)>,
    began: Instant,
    turn_began: Instant,
    /// How long model requests took since the adapter started.
    total_model_ms: u64,
    requested_at: Option<Timestamp>,
    model_ms: u64,
    turns: u64,
    usage: Usage,
    stop: Option<StopReason>,
    denials: Vec<Value>,
    /// Whether a call was cancelled since the last model request.
    was_call_cancelled: bool,
}

/// Maximum number of denials in a result.
const MAX_DENIALS: usize = 100;

impl TurnStatsCollector {
    pub(super) fn new(root: TaskId) -> TurnStatsCollector {
        TurnStatsCollector {
            root,
            models: BTreeMap::new(),
            began: Instant::now(),
            turn_began: Instant::now(),
            total_model_ms: 0,
            requested_at: None,
            model_ms: 0,
            turns: 0,
            usage: Usage::default(),
            stop: None,
            denials: Vec::new(),
            was_call_cancelled: false,
        }
    }

    /// Starts a client's turn.
    pub(super) fn begin_turn(&mut self) {
        self.turn_began = Instant::now();
    }

    /// Records an event.
    pub(super) fn record(&mut self, envelope: &Envelope) {
        let is_root = envelope.entry.task == self.root;
        match &envelope.entry.event {
            Event::TurnBegun { .. } if is_root => {
                self.requested_at = Some(envelope.entry.at);
                self.was_call_cancelled = false;
            }
            Event::CallAnswered { answer, .. } if is_root => {
                self.was_call_cancelled |= answer.status == ToolResultStatus::Cancelled
            }
            Event::TurnAnswered { stop, usage, cost, model, .. } => {
                let (used, spent) = self.models.entry(model.clone()).or_default();
                *used = used.plus(*usage);
                *spent = spent.plus(*cost);
                self.usage = self.usage.plus(*usage);
                if is_root {
                    self.turns += 1;
                    self.stop = Some(*stop);
                    let requested = self.requested_at.take().unwrap_or(envelope.entry.at);
                    let took = envelope.entry.at.0.saturating_sub(requested.0);
                    (self.model_ms, self.total_model_ms) = (self.model_ms + took, self.total_model_ms + took);
                }
            }
            _other => {}
        }
    }

    /// Records a denied call.
    pub(super) fn record_denial(&mut self, denial: Value) {
        if self.denials.len() < MAX_DENIALS {
            self.denials.push(denial);
        }
    }

    /// The usage since the adapter started, as the answer to `get_usage`. There is no plan of the vendor.
    pub(super) fn usage_report(&self) -> Value {
        let spent = self.models.values().fold(0_u64, |sum, (_, cost)| sum.saturating_add(cost.micros));
        json!({
            "session": {
                "total_cost_usd": usd(spent), "total_api_duration_ms": self.total_model_ms,
                "total_duration_ms": u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
                "total_lines_added": 0, "total_lines_removed": 0, "model_usage": models_json(&self.models),
            },
            "subscription_type": null, "rate_limits_available": false, "rate_limits": null, "behaviors": null,
        })
    }

    /// Returns the statistics of the client's turn and resets them.
    pub(super) fn finish_turn(&mut self) -> TurnStats {
        let stats = TurnStats {
            duration_ms: u64::try_from(self.turn_began.elapsed().as_millis()).unwrap_or(u64::MAX),
            model_ms: self.model_ms,
            turns: self.turns,
            usage: self.usage,
            stop: self.stop.map(stop_reason),
            models: self.models.clone(),
            denials: std::mem::take(&mut self.denials),
            ended_in_tools: std::mem::take(&mut self.was_call_cancelled),
            origin: None,
        };
        (self.model_ms, self.turns, self.usage, self.stop) = (0, 0, Usage::default(), None);
        self.turn_began = Instant::now();
        stats
    }
}
