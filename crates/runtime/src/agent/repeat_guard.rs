//! Stops a small model that makes the same calls again and again.

use model::{ModelFacts, ModelTier};
use protocol::{CallId, Clip};

use crate::conversation::Conversation;
use crate::repeats::STALE;

/// The call that is not run any more, counted from the first of its kind.
const REFUSE_AT: usize = 3;
/// The call that ends the activation.
const FAIL_AT: usize = 6;

/// A model that goes on with a call although it was told not to.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the model repeats the call `{tool} {input}` and gets no further; use a larger model, or ask for a smaller step"
)]
pub(super) struct RepeatedCallsError {
    tool: String,
    input: Clip,
}

/// The open calls that are not to be run, since they only repeat what was answered before.
pub(super) fn repeated_calls(
    facts: &ModelFacts,
    conversation: &Conversation,
) -> Result<Vec<CallId>, RepeatedCallsError> {
    match facts.tier {
        ModelTier::Capable => return Ok(Vec::new()),
        ModelTier::Small => {}
    }
    let mut refused = Vec::new();
    for call in conversation.open_calls() {
        let times = conversation.repeats().times(&call.id) + 1;
        if times >= FAIL_AT || conversation.repeats().stale() >= STALE {
            return Err(RepeatedCallsError { tool: call.tool, input: Clip::new(&call.input, 200) });
        }
        if times >= REFUSE_AT {
            refused.push(call.id);
        }
    }
    Ok(refused)
}
