//! One question to the model.

use futures_util::StreamExt;
use model::{Delta, Draft, Model, ModelError, Reply, Request};
use protocol::{TaskId, Turn};
use tools::Pulse;

use crate::bus::{Bus, Live};
use crate::governor::Permit;
use crate::watch::Words;

/// Where an answer is heard as it arrives.
pub(super) struct Ears<'a> {
    pub(super) bus: &'a Bus,
    pub(super) task: TaskId,
    pub(super) turn: Turn,
    pub(super) pulse: Pulse,
    pub(super) words: Words,
}

impl Ears<'_> {
    fn hear(&self, delta: &Delta) {
        self.pulse.beat();
        if let Delta::Text(text) = delta {
            self.words.hear(self.turn, text);
            self.bus.publish(Live::Text { task: self.task, turn: self.turn, text: text.clone() });
        }
    }
}

/// Asks, and lets the answer be heard as it arrives.
pub(super) async fn ask(
    model: &dyn Model,
    request: Request,
    ears: Ears<'_>,
    permit: &mut Permit,
) -> Result<Reply, ModelError> {
    let mut deltas = model.ask(request);
    let mut draft = Draft::default();
    while let Some(delta) = deltas.next().await {
        let delta = delta?;
        permit.begun();
        ears.hear(&delta);
        draft.push(delta)?;
    }
    draft.finish()
}
