//! The lines of a recording.

use protocol::{ModelFault, StopReason, ToolCallRequest, Usage};
use serde::{Deserialize, Serialize};

use super::identity::ConversationIdentity;
use crate::{Delta, ModelError, ModelRequest};

/// The version of the format.
pub(super) const VERSION: u32 = 1;
/// Maximum bytes of a line: the largest answer with every byte escaped.
pub(super) const MAX_LINE_BYTES: usize = 128 << 20;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecordingHeader {
    /// The version of the format.
    pub(super) bosun_recording: u32,
}

/// One answer and the request it belongs to.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecordedAnswer {
    pub(super) agent: String,
    pub(super) path: String,
    pub(super) turn: u32,
    pub(super) attempt: u32,
    pub(super) request: ConversationIdentity,
    deltas: Vec<RecordedDelta>,
    fault: Option<RecordedError>,
}

impl RecordedAnswer {
    /// An empty line for the answer to `request`.
    pub(super) fn new(request: &ModelRequest) -> RecordedAnswer {
        RecordedAnswer {
            agent: request.agent.clone(),
            path: request.path.clone(),
            turn: request.turn,
            attempt: request.attempt,
            request: ConversationIdentity::of(request),
            deltas: Vec::new(),
            fault: None,
        }
    }

    /// Adds a delta or an error from the model.
    pub(super) fn push(&mut self, result: &Result<Delta, ModelError>) {
        match result {
            Ok(delta) => self.deltas.push(delta.clone().into()),
            Err(ModelError { fault, message, hint, has_started: begun }) => {
                let (message, hint) = (message.clone(), hint.clone());
                self.fault = Some(RecordedError { fault: *fault, message, hint, begun: *begun });
            }
        }
    }

    /// The deltas and the error from the model, in order.
    pub(super) fn results(&self) -> Vec<Result<Delta, ModelError>> {
        let error = |RecordedError { fault, message, hint, begun }| {
            Err(ModelError { fault, message, hint, has_started: begun })
        };
        let fault = self.fault.clone().map(error);
        self.deltas.iter().cloned().map(|delta| Ok(delta.into())).chain(fault).collect()
    }
}

/// A delta on disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum RecordedDelta {
    Text { text: String },
    Thinking { text: String },
    Call(ToolCallRequest),
    Opaque { provider: String, json: String },
    Done { stop: StopReason, usage: Usage, model: String },
}

impl From<Delta> for RecordedDelta {
    fn from(delta: Delta) -> RecordedDelta {
        match delta {
            Delta::Text(text) => RecordedDelta::Text { text },
            Delta::Thinking(text) => RecordedDelta::Thinking { text },
            Delta::Call(call) => RecordedDelta::Call(call),
            Delta::Opaque { provider, json } => RecordedDelta::Opaque { provider, json },
            Delta::Done { stop, usage, model } => RecordedDelta::Done { stop, usage, model },
        }
    }
}

impl From<RecordedDelta> for Delta {
    fn from(delta: RecordedDelta) -> Delta {
        match delta {
            RecordedDelta::Text { text } => Delta::Text(text),
            RecordedDelta::Thinking { text } => Delta::Thinking(text),
            RecordedDelta::Call(call) => Delta::Call(call),
            RecordedDelta::Opaque { provider, json } => Delta::Opaque { provider, json },
            RecordedDelta::Done { stop, usage, model } => Delta::Done { stop, usage, model },
        }
    }
}

/// An error on disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordedError {
    fault: ModelFault,
    message: String,
    hint: Option<String>,
    #[serde(default)]
    begun: bool,
}
