//! The stub that replaces an answer.

use model::ModelMessage;
use protocol::{CallId, ToolCallRequest, ToolResult};

use super::call_summary::summarize_call;
use super::cut::calls;

/// Answers up to this size are kept: a stub would not be much smaller.
pub(super) const MAX_KEPT_BYTES: usize = 320;

/// Replaces the long answers in `messages` by stubs. Ids and statuses stay, and a stub is never replaced again.
pub(super) fn stub_answers(messages: &mut [ModelMessage]) {
    for index in 1..messages.len() {
        let (before, rest) = messages.split_at_mut(index);
        if let ModelMessage::Answers { answers } = &mut rest[0] {
            let answered_calls: Vec<&ToolCallRequest> = calls(&before[index - 1]).collect();
            for (id, answer) in answers.iter_mut().filter(|(_, answer)| answer.text.len() > MAX_KEPT_BYTES) {
                answer.text = stub(&answered_calls, id, answer);
            }
        }
    }
}

fn stub(answered_calls: &[&ToolCallRequest], id: &CallId, answer: &ToolResult) -> String {
    let about = answered_calls.iter().find(|call| call.id == *id).map(|call| summarize_call(call)).unwrap_or_default();
    format!(
        "[The answer to `{about}`, {} bytes, was left out to make room. Make the call again if you need it.]",
        answer.text.len()
    )
}
