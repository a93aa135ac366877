//! Statistics of a client's turn, from its message to the result frame, and usage since the adapter started.

use std::collections::BTreeMap;

use protocol::{Cost, Envelope, Event, StopReason, TaskId, Timestamp, ToolResultStatus, Usage};
use serde_json::Value;
use tokio::time::Instant;

use super::frames::{TurnStats, stop_reason};

/// Collects the statistics of a client's turn; `turns` counts the model turns in it.
#[derive(Debug)]
pub(super) struct TurnStatsCollector {
    root: TaskId,
    models: BTreeMap<String, (Usage, Cost)>,
    turn_began: Instant,
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
            turn_began: Instant::now(),
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
                    self.model_ms += envelope.entry.at.0.saturating_sub(requested.0);
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
