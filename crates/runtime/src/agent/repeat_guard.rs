//! Stops a small model that makes the same calls again and again.

use model::{ModelFacts, ModelTier};
use protocol::{CallId, Clip};

use crate::conversation::Conversation;
use crate::repeats::MAX_STALE_TURNS;

/// The repetition that is refused, counting the first call as 1.
const REFUSE_AT: usize = 3;
/// The repetition that ends the activation.
const FAIL_AT: usize = 6;

/// The model continues to repeat a call that was refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the model repeats the call `{tool} {input}` without progress; use a larger model, or ask for a smaller step")]
pub(super) struct RepeatedCallsError {
    tool: String,
    input: Clip,
}

/// The open calls to refuse, because they only repeat answered calls.
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
        if times >= FAIL_AT || conversation.repeats().stale() >= MAX_STALE_TURNS {
            return Err(RepeatedCallsError { tool: call.tool, input: Clip::new(&call.input, 200) });
        }
        if times >= REFUSE_AT {
            refused.push(call.id);
        }
    }
    Ok(refused)
}
