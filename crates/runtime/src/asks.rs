//! What is put before a person: calls that need permission, and the model's own questions.

use kernel::Decided;
use policy::Verdict;
use protocol::{Answer, AnswerStatus, Ask, AskId, Call, CallId, DecidedBy, Decision, Subject};
use sha2::{Digest, Sha256};
use tools::{BoxFuture, Question, ToolError};

use crate::agent::Desk;
use crate::permit;
use crate::waits::Caller;

/// How many characters of its digest an ask goes by.
const NAME: usize = 12;

/// The ask for permission to run a call.
pub(crate) fn permission(desk: &Desk, caller: &Caller, call: &Call, verdict: &Verdict) -> Ask {
    let subject = Subject::Permission {
        tool: call.tool.clone(),
        input: call.input.clone(),
        reason: verdict.reason(),
        rule: verdict.rule.clone(),
    };
    ask(desk, caller, &call.id, &[&call.tool, &call.input], subject)
}

/// What the model is told when permission was not given.
pub(crate) fn refused(call: &Call, verdict: &Verdict, decided: &Decided) -> Answer {
    let text = match (decided.by, &decided.decision) {
        (DecidedBy::User, Decision::Deny { words }) if !words.trim().is_empty() => {
            format!("The user did not permit this call of `{}`, and says: {words}", call.tool)
        }
        (DecidedBy::User, _) => format!("The user did not permit this call of `{}`.", call.tool),
        (DecidedBy::Deadline, _) => {
            format!("{} Nobody was there to decide it in time.", permit::denied(&call.tool, verdict))
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
            let exact = std::iter::once(&question).chain(&choices).map(String::as_str).collect::<Vec<_>>();
            let subject = Subject::Question { question: question.clone(), choices: choices.clone() };
            let ask = ask(&self.desk, &self.caller, &self.caller.call, &exact, subject);
            let pending = self.caller.ask(ask).await.map_err(ToolError::broken)?;
            let decided = pending.decided().await.map_err(ToolError::broken)?;
            Ok(match decided.decision {
                Decision::Reply { text } => Some(text),
                Decision::Allow { .. } | Decision::Deny { .. } => None,
            })
        })
    }
}

fn ask(desk: &Desk, caller: &Caller, call: &CallId, exact: &[&str], subject: Subject) -> Ask {
    let until_at = desk.settings.ask_wait.map(|wait| desk.settings.clock.now().plus(wait));
    Ask { id: id(desk, caller, exact), call: call.clone(), subject, until_at }
}

/// The name of an ask, from everything that makes its call this one and no other.
fn id(desk: &Desk, caller: &Caller, exact: &[&str]) -> AskId {
    let turn = caller.turn.0.to_string();
    let place = [&desk.session.to_string(), &caller.run.task.to_string(), &turn, &caller.call.0];
    let mut digest = Sha256::new();
    for part in place.into_iter().map(String::as_str).chain(exact.iter().copied()) {
        // Where a part ends is part of what it says.
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    }
    let hex: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    AskId(hex.chars().take(NAME).collect())
}
