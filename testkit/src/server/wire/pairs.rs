//! Checks what every provider requires of a conversation: each call is answered once, right after it was made.

use std::collections::BTreeSet;

use model::{ModelMessage, ModelRequest};
use protocol::{CallId, ContentBlock};

use super::field::BodyProblem;

/// Checks the calls and answers of a conversation.
pub(super) fn check(request: &ModelRequest) -> Result<(), BodyProblem> {
    let mut ever = BTreeSet::new();
    let mut open: Vec<&CallId> = Vec::new();
    for message in request.messages.iter() {
        match message {
            ModelMessage::Answers { answers } => {
                for (call, _) in answers {
                    let Some(at) = open.iter().position(|open| *open == call) else {
                        return Err(BodyProblem::new(format!(
                            "the answer to `{call}` has no call in the message before it"
                        )));
                    };
                    open.remove(at);
                }
            }
            ModelMessage::User { .. } => none_open(&open)?,
            ModelMessage::Assistant { content } => {
                none_open(&open)?;
                for call in content.iter().filter_map(call_id) {
                    if !ever.insert(call) {
                        return Err(BodyProblem::new(format!("the call id `{call}` is used twice")));
                    }
                    open.push(call);
                }
            }
        }
    }
    none_open(&open)?;
    if !ever.is_empty() && request.tools.is_empty() {
        return Err(BodyProblem::new("field required, since messages contain tool calls").within("tools"));
    }
    Ok(())
}

fn none_open(open: &[&CallId]) -> Result<(), BodyProblem> {
    match open.first() {
        Some(call) => Err(BodyProblem::new(format!("the call `{call}` has no answer in the message after it"))),
        None => Ok(()),
    }
}

fn call_id(block: &ContentBlock) -> Option<&CallId> {
    match block {
        ContentBlock::Call(call) => Some(&call.id),
        ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
    }
}
