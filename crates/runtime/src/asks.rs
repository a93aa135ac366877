//! What is put before a person: calls that need permission, and the model's own questions.

use kernel::Decided;
use policy::Verdict;
use protocol::{Answer, AnswerStatus, Ask, AskId, Call, Clip, DecidedBy, Decision, Subject};
use sha2::{Digest, Sha256};
use tools::{BoxFuture, Question, ToolError};

use crate::agent::Desk;
use crate::permit;
use crate::waits::Caller;

/// How many bytes of its digest an ask goes by: nobody can write two calls that share them.
const NAME: usize = 16;

/// Most bytes of a person's words that a model reads.
const WORDS: usize = 8 * 1024;

/// Most bytes of why a call was not permitted.
const REASON: usize = 4 * 1024;

/// The ask for permission to run a call.
pub(crate) fn permission(desk: &Desk, caller: &Caller, call: &Call, verdict: &Verdict) -> Ask {
    let subject = Subject::Permission {
        tool: call.tool.clone(),
        input: call.input.clone(),
        reason: verdict.reason(),
        rules: verdict.rules(),
    };
    ask(desk, caller, &["permission", &call.tool, &call.input], subject)
}

/// What the model is told when permission was not given.
pub(crate) fn refused(call: &Call, verdict: &Verdict, decided: &Decided) -> Answer {
    let text = match (decided.by, &decided.decision) {
        (DecidedBy::User, Decision::Deny { words }) if !words.trim().is_empty() => {
            let words = Clip::new(words.trim(), WORDS);
            format!("The user did not permit this call of `{}`, and says: {words}", call.tool)
        }
        (DecidedBy::User, _) => format!("The user did not permit this call of `{}`.", call.tool),
        (DecidedBy::Deadline, _) => {
            let denied = Clip::new(&permit::denied(&call.tool, verdict), REASON);
            format!("{denied} Nobody was there to decide it in time.")
        }
    };
    Answer { status: AnswerStatus::Denied, text }
}

/// Asks the user what a model wants to know.
#[derive(Debug)]
pub(crate) struct Questions {
    pub(crate) desk: std::sync::Arc<Desk>,
    pub(crate) caller: Caller,
}

impl tools::Asker for Questions {
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Option<String>, ToolError>> {
        Box::pin(async move {
            let Question { question, choices } = question;
            let exact = ["question", &question].into_iter().chain(choices.iter().map(String::as_str));
            let exact: Vec<&str> = exact.collect();
            let subject = Subject::Question { question: question.clone(), choices: choices.clone() };
            let ask = ask(&self.desk, &self.caller, &exact, subject);
            let id = ask.id.clone();
            let wait = self.desk.settings.ask_wait;
            let pending = self.caller.ask(ask, wait).await.map_err(ToolError::broken)?;
            let decided = pending.decided().await.map_err(ToolError::broken)?;
            if decided.ask != id {
                return Err(ToolError::refused("a call asks one question; ask the next with another call"));
            }
            Ok(match decided.decision {
                Decision::Reply { text } => Some(text),
                Decision::Allow { .. } | Decision::Deny { .. } | Decision::Proceed { .. } => None,
            })
        })
    }
}

/// An ask of a call, named by everything that makes it this one.
pub(crate) fn ask(desk: &Desk, caller: &Caller, exact: &[&str], subject: Subject) -> Ask {
    let until_at = desk.settings.ask_wait.map(|wait| desk.settings.clock.now().plus(wait));
    let (session, task, turn) = (desk.session.to_string(), caller.run.task.to_string(), caller.turn.0.to_string());
    let place = [session.as_str(), &task, &turn, &caller.call.0];
    Ask { id: id(place.into_iter().chain(exact.iter().copied())), call: caller.call.clone(), subject, until_at }
}

/// The name of an ask, from everything that makes its call this one and no other.
fn id<'a>(exact: impl Iterator<Item = &'a str>) -> AskId {
    let mut digest = Sha256::new();
    for part in exact {
        // Where a part ends is part of what it says.
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    AskId(digest.finalize().iter().take(NAME).map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(parts: &[&str]) -> String {
        id(parts.iter().copied()).0
    }

    #[test]
    fn a_name_covers_every_byte_of_the_call_and_where_its_parts_end() {
        let call = ["ses-1", "task-1", "3", "c1", "permission", "shell", r#"{"command":"rm -r a"}"#];
        let name = named(&call);
        assert_eq!(name.len(), 2 * NAME);
        assert_eq!(name, named(&call));
        for (index, part) in call.iter().enumerate() {
            for at in 0..part.len() {
                let mut bytes = part.as_bytes().to_vec();
                bytes[at] ^= 1;
                let changed = String::from_utf8(bytes).unwrap();
                let mut other = call;
                other[index] = &changed;
                assert_ne!(name, named(&other), "byte {at} of {part} is not covered");
            }
        }
        assert_ne!(named(&["ab", "c"]), named(&["a", "bc"]));
        assert_ne!(named(&["ab"]), named(&["ab", ""]));
    }
}
