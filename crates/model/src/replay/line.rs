//! The lines of a recording.

use protocol::{Call, ModelFault, StopReason, Usage};
use serde::{Deserialize, Serialize};

use super::identity::Identity;
use crate::{Delta, ModelError, Request};

/// The version of the format.
pub(super) const VERSION: u32 = 1;
/// Most bytes a line may have: the largest answer with every byte of it escaped.
pub(super) const MAX_LINE: usize = 128 << 20;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header {
    /// The version of the format.
    pub(super) bosun_recording: u32,
}

/// One answer: whom it was given to, and what it was.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line {
    pub(super) agent: String,
    pub(super) path: String,
    pub(super) turn: u32,
    pub(super) attempt: u32,
    pub(super) request: Identity,
    deltas: Vec<Piece>,
    fault: Option<Fault>,
}

impl Line {
    /// A line for the answer to `request`, of which nothing has arrived yet.
    pub(super) fn new(request: &Request) -> Line {
        Line {
            agent: request.agent.clone(),
            path: request.path.clone(),
            turn: request.turn,
            attempt: request.attempt,
            request: Identity::of(request),
            deltas: Vec::new(),
            fault: None,
        }
    }

    /// Adds what the model sent.
    pub(super) fn push(&mut self, sent: &Result<Delta, ModelError>) {
        match sent {
            Ok(delta) => self.deltas.push(delta.clone().into()),
            Err(ModelError { fault, message, hint, begun }) => {
                let (message, hint) = (message.clone(), hint.clone());
                self.fault = Some(Fault { fault: *fault, message, hint, begun: *begun });
            }
        }
    }

    /// What the model sent, in order.
    pub(super) fn sent(&self) -> Vec<Result<Delta, ModelError>> {
        let error = |Fault { fault, message, hint, begun }| Err(ModelError { fault, message, hint, begun });
        let fault = self.fault.clone().map(error);
        self.deltas.iter().cloned().map(|piece| Ok(piece.into())).chain(fault).collect()
    }
}

/// A delta on disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Piece {
    Text { text: String },
    Thinking { text: String },
    Call(Call),
    Opaque { provider: String, json: String },
    Done { stop: StopReason, usage: Usage, model: String },
}

impl From<Delta> for Piece {
    fn from(delta: Delta) -> Piece {
        match delta {
            Delta::Text(text) => Piece::Text { text },
            Delta::Thinking(text) => Piece::Thinking { text },
            Delta::Call(call) => Piece::Call(call),
            Delta::Opaque { provider, json } => Piece::Opaque { provider, json },
            Delta::Done { stop, usage, model } => Piece::Done { stop, usage, model },
        }
    }
}

impl From<Piece> for Delta {
    fn from(piece: Piece) -> Delta {
        match piece {
            Piece::Text { text } => Delta::Text(text),
            Piece::Thinking { text } => Delta::Thinking(text),
            Piece::Call(call) => Delta::Call(call),
            Piece::Opaque { provider, json } => Delta::Opaque { provider, json },
            Piece::Done { stop, usage, model } => Delta::Done { stop, usage, model },
        }
    }
}

/// An error on disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fault {
    fault: ModelFault,
    message: String,
    hint: Option<String>,
    #[serde(default)]
    begun: bool,
}
