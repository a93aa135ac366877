//! Asks: tool calls that need permission, and the model's own questions.

use data_encoding::HEXLOWER;
use kernel::DecidedAsk;
use policy::Verdict;
use protocol::{Ask, AskDecision, AskId, AskSubject, Clip, DecidedBy, ToolCallRequest, ToolResult, ToolResultStatus};
use sha2::{Digest, Sha256};
use tools::{BoxFuture, ToolError, UserQuestion};

use crate::agent::OpenCall;
use crate::call_waits::{CallLocation, Caller};
use crate::permission_check;
use crate::session_context::{SessionContext, SessionFacts};

/// Bytes of the digest that identify an ask: enough that two calls with the same id cannot be constructed.
const ASK_ID_BYTES: usize = 16;

/// Maximum bytes of the user's reply that a model reads.
const MAX_REPLY_BYTES: usize = 8 * 1024;

/// Maximum bytes of the reason why a call was not permitted.
const MAX_REASON_BYTES: usize = 4 * 1024;

/// The ask for permission to run a call.
pub(crate) fn permission_ask(facts: &SessionFacts, open: &OpenCall, call: &ToolCallRequest, verdict: &Verdict) -> Ask {
    let subject = AskSubject::Permission {
        tool: call.tool.clone(),
        input: call.input.clone(),
        reason: verdict.reason(),
        rules: verdict.suggested_rules(),
    };
    ask(facts, (open.run.task, open.turn, &open.call), &["permission", &call.tool, &call.input], subject)
}

/// The tool result of a call that was not permitted.
pub(crate) fn refused_answer(call: &ToolCallRequest, verdict: &Verdict, decided: &DecidedAsk) -> ToolResult {
    let text = match (decided.by, &decided.decision) {
        (DecidedBy::User, AskDecision::Deny { message }) if !message.trim().is_empty() => {
            let message = Clip::new(message.trim(), MAX_REPLY_BYTES);
            format!("The user did not permit this call of `{}`, and says: {message}", call.tool)
        }
        (DecidedBy::User, _) => format!("The user did not permit this call of `{}`.", call.tool),
        (DecidedBy::Deadline, _) => {
            let denied = Clip::new(&permission_check::denial_text(&call.tool, verdict), MAX_REASON_BYTES);
            format!("{denied} The user did not decide in time.")
        }
    };
    ToolResult { status: ToolResultStatus::Denied, text }
}

/// Puts a model's questions to the user.
#[derive(Debug)]
pub(crate) struct UserAsker {
    pub(crate) context: std::sync::Arc<SessionContext>,
    pub(crate) caller: Caller,
}

impl tools::UserPrompter for UserAsker {
    fn ask(&self, question: UserQuestion) -> BoxFuture<'_, Result<Option<String>, ToolError>> {
        Box::pin(async move {
            let UserQuestion { question, choices } = question;
            let parts = ["question", &question].into_iter().chain(choices.iter().map(String::as_str));
            let parts: Vec<&str> = parts.collect();
            let subject = AskSubject::Question { question: question.clone(), choices: choices.clone() };
            let ask = ask(&self.context.facts, self.caller.location(), &parts, subject);
            let id = ask.id.clone();
            let wait = self.context.facts.ask_wait;
            let pending = self.caller.ask(ask, wait).await.map_err(ToolError::failed)?;
            let decided = pending.decision().await.map_err(ToolError::failed)?;
            if decided.ask != id {
                return Err(ToolError::refused("a call can ask only one question; ask the next one with another call"));
            }
            Ok(match decided.decision {
                AskDecision::Reply { text } => Some(text),
                AskDecision::Allow { .. } | AskDecision::Deny { .. } | AskDecision::Proceed { .. } => None,
            })
        })
    }
}

/// The ask of a call; `parts` and the call itself determine its id.
pub(crate) fn ask(
    facts: &SessionFacts,
    (task, turn, call): CallLocation<'_>,
    parts: &[&str],
    subject: AskSubject,
) -> Ask {
    let until_at = facts.ask_wait.map(|wait| facts.clock.now().plus(wait));
    let (session, task, turn) = (facts.session.to_string(), task.to_string(), turn.0.to_string());
    let call_location = [session.as_str(), &task, &turn, &call.0];
    Ask { id: ask_id(call_location.into_iter().chain(parts.iter().copied())), call: call.clone(), subject, until_at }
}

/// The id of an ask: a digest of its parts.
fn ask_id<'a>(parts: impl Iterator<Item = &'a str>) -> AskId {
    let mut digest = Sha256::new();
    for part in parts {
        // The length keeps the parts apart.
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    AskId(HEXLOWER.encode(&digest.finalize()[..ASK_ID_BYTES]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_of(parts: &[&str]) -> String {
        ask_id(parts.iter().copied()).0
    }

    #[test]
    fn the_id_covers_every_byte_and_the_boundaries_of_the_parts() {
        let call = ["ses-1", "task-1", "3", "c1", "permission", "shell", r#"{"command":"rm -r a"}"#];
        let id = id_of(&call);
        assert_eq!(id.len(), 2 * ASK_ID_BYTES);
        assert_eq!(id, id_of(&call));
        for (index, part) in call.iter().enumerate() {
            for at in 0..part.len() {
                let mut bytes = part.as_bytes().to_vec();
                bytes[at] ^= 1;
                let changed = String::from_utf8(bytes).unwrap();
                let mut other = call;
                other[index] = &changed;
                assert_ne!(id, id_of(&other), "byte {at} of {part} is not covered");
            }
        }
        assert_ne!(id_of(&["ab", "c"]), id_of(&["a", "bc"]));
        assert_ne!(id_of(&["ab"]), id_of(&["ab", ""]));
    }
}
