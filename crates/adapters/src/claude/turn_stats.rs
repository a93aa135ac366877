//! What turns took: this one, and all of them since the adapter was opened.

use std::collections::BTreeMap;

use protocol::{Cost, Envelope, Event, StopReason, TaskId, Timestamp, ToolResultStatus, Usage};
use serde_json::Value;
use tokio::time::Instant;

use super::frames::{TurnStats, stop};

/// What turns took.
#[derive(Debug)]
pub(super) struct TurnStatsCollector {
    root: TaskId,
    models: BTreeMap<String, (Usage, Cost)>,
    since: Instant,
    asked_at: Option<Timestamp>,
    model_millis: u64,
    turns: u64,
    usage: Usage,
    stop: Option<StopReason>,
    denials: Vec<Value>,
    /// Whether a call was broken off since a model was last asked.
    in_tools: bool,
}

/// Most denials that a result names.
const DENIALS_MAX: usize = 100;

impl TurnStatsCollector {
    pub(super) fn new(root: TaskId) -> TurnStatsCollector {
        TurnStatsCollector {
            root,
            models: BTreeMap::new(),
            since: Instant::now(),
            asked_at: None,
            model_millis: 0,
            turns: 0,
            usage: Usage::default(),
            stop: None,
            denials: Vec::new(),
            in_tools: false,
        }
    }

    /// A turn begins.
    pub(super) fn begin_turn(&mut self) {
        self.since = Instant::now();
    }

    /// Takes in what an event says of it.
    pub(super) fn record(&mut self, envelope: &Envelope) {
        let is_root = envelope.entry.task == self.root;
        match &envelope.entry.event {
            Event::TurnBegun { .. } if is_root => {
                self.asked_at = Some(envelope.entry.at);
                self.in_tools = false;
            }
            Event::CallAnswered { answer, .. } if is_root => {
                self.in_tools |= answer.status == ToolResultStatus::Cancelled
            }
            Event::TurnAnswered { stop, usage, cost, model, .. } => {
                let (used, spent) = self.models.entry(model.clone()).or_default();
                *used = used.plus(*usage);
                *spent = spent.plus(*cost);
                self.usage = self.usage.plus(*usage);
                if is_root {
                    self.turns += 1;
                    self.stop = Some(*stop);
                    let asked = self.asked_at.take().unwrap_or(envelope.entry.at);
                    self.model_millis += envelope.entry.at.0.saturating_sub(asked.0);
                }
            }
            _other => {}
        }
    }

    /// A call was not permitted.
    pub(super) fn record_denial(&mut self, denial: Value) {
        if self.denials.len() < DENIALS_MAX {
            self.denials.push(denial);
        }
    }

    /// The figures of the turn, which is over.
    pub(super) fn finish_turn(&mut self) -> TurnStats {
        let figures = TurnStats {
            millis: u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX),
            model_millis: self.model_millis,
            turns: self.turns,
            usage: self.usage,
            stop: self.stop.map(stop),
            models: self.models.clone(),
            denials: std::mem::take(&mut self.denials),
            in_tools: std::mem::take(&mut self.in_tools),
            is_wake_up: false,
        };
        (self.model_millis, self.turns, self.usage, self.stop) = (0, 0, Usage::default(), None);
        self.since = Instant::now();
        figures
    }
}
