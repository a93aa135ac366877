//! A model that checks its requests: every call so far has exactly one answer, right after it, and the history of a
//! task only grows, unless it was compacted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use model::{Deltas, Model, ModelFacts, ModelMessage, ModelRequest};
use protocol::{CallId, ContentBlock};
use tokio::sync::watch;

/// Checks every request and passes it to another model.
#[derive(Debug)]
pub struct CheckedModel {
    model: Arc<dyn Model>,
    seen: Mutex<LastRequest>,
    /// The number of requests.
    asked: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct LastRequest {
    requests: Vec<ModelRequest>,
    faults: Vec<String>,
    /// The number of compacted requests.
    compacted: usize,
}

/// How a request compares to the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestChange {
    Grown,
    Compacted,
}

impl CheckedModel {
    /// Checks the requests to `model`.
    pub fn new(model: Arc<dyn Model>) -> CheckedModel {
        CheckedModel { model, seen: Mutex::default(), asked: watch::Sender::new(0) }
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.seen().requests.clone()
    }

    /// Waits for this many requests.
    pub async fn until_asked(&self, requests: usize) {
        let mut asked = self.asked.subscribe();
        // The sender lives as long as the model, so the wait cannot fail.
        let _asked = asked.wait_for(|asked| *asked >= requests).await;
    }

    /// Fails if any request is not valid for a session with this many compactions.
    pub fn verify(&self, compactions: usize) {
        let LastRequest { faults, compacted, .. } = &*self.seen();
        assert!(faults.is_empty(), "requests to the model are wrong:\n{}", faults.join("\n"));
        assert!(*compacted <= compactions, "{compacted} requests are compacted, and {compactions} events say so");
    }

    fn seen(&self) -> MutexGuard<'_, LastRequest> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for CheckedModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn facts(&self) -> &ModelFacts {
        self.model.facts()
    }

    fn refresh_facts(&self) -> BoxFuture<'_, ()> {
        self.model.refresh_facts()
    }

    fn send(&self, request: ModelRequest) -> Deltas {
        let mut seen = self.seen();
        let number = seen.requests.len() + 1;
        let before = seen.requests.iter().rev().find(|before| before.path == request.path);
        let change = before.map_or(Ok(RequestChange::Grown), |before| change(before, &request));
        seen.compacted += usize::from(change == Ok(RequestChange::Compacted));
        let faults = [answered(&request.messages).err(), change.err()].into_iter().flatten();
        let faults: Vec<String> = faults.map(|fault| format!("request {number}: {fault}")).collect();
        seen.faults.extend(faults);
        seen.requests.push(request.clone());
        drop(seen);
        let deltas = self.model.send(request);
        self.asked.send_replace(number);
        deltas
    }
}

/// Checks that each message with calls is followed by one that answers exactly those calls.
fn answered(messages: &[ModelMessage]) -> Result<(), String> {
    let mut open: Vec<&CallId> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let given: Vec<&CallId> = match message {
            ModelMessage::Answers { answers } => answers.iter().map(|(call, _)| call).collect(),
            ModelMessage::User { .. } | ModelMessage::Assistant { .. } => Vec::new(),
        };
        if given != open {
            return Err(format!("message {index} answers {given:?}, and {open:?} are open"));
        }
        open = calls(message);
    }
    if open.is_empty() { Ok(()) } else { Err(format!("{open:?} have no answer")) }
}

fn calls(message: &ModelMessage) -> Vec<&CallId> {
    let content = match message {
        ModelMessage::Assistant { content } => content.as_slice(),
        ModelMessage::User { .. } | ModelMessage::Answers { .. } => &[],
    };
    let calls = content.iter().filter_map(|block| match block {
        ContentBlock::Call(call) => Some(&call.id),
        ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
    });
    calls.collect()
}

/// Checks that a request begins with everything in the previous one, or with what a compaction left of it.
fn change(before: &ModelRequest, now: &ModelRequest) -> Result<RequestChange, String> {
    // More tools may have been loaded since.
    if now.system != before.system || !now.tools.starts_with(&before.tools) {
        return Err("its instructions or tools are not those of the request before".into());
    }
    if now.messages.starts_with(&before.messages) {
        return Ok(RequestChange::Grown);
    }
    if is_without_output(&before.messages, &now.messages) || is_digested(&before.messages, &now.messages) {
        return Ok(RequestChange::Compacted);
    }
    match before.messages.iter().zip(now.messages.iter()).position(|(before, now)| before != now) {
        Some(index) => Err(format!("message {index} is not what it was in the request before")),
        None => Err("it is shorter than the request before".into()),
    }
}

/// Whether only the text of tool results differs.
fn is_without_output(before: &[ModelMessage], now: &[ModelMessage]) -> bool {
    let is_same = |(before, now): (&ModelMessage, &ModelMessage)| match (before, now) {
        (ModelMessage::Answers { answers: before }, ModelMessage::Answers { answers: now }) => {
            let outline = |(id, answer): &(CallId, protocol::ToolResult)| (id.clone(), answer.status);
            before.iter().map(outline).eq(now.iter().map(outline))
        }
        (before, now) => before == now,
    };
    now.len() >= before.len() && before.iter().zip(now).all(is_same)
}

/// Whether one user message replaces the first messages, and the last turn is unchanged.
fn is_digested(before: &[ModelMessage], now: &[ModelMessage]) -> bool {
    let Some((ModelMessage::User { .. }, kept)) = now.split_first() else { return false };
    let has_turn = kept.iter().any(|message| matches!(message, ModelMessage::Assistant { .. }));
    has_turn && (1..=before.len()).any(|cut| kept.starts_with(&before[cut..]))
}

#[cfg(test)]
mod tests {
    use protocol::{ToolCallRequest, ToolResult, ToolResultStatus};

    use super::*;

    fn says(ids: &[&str]) -> ModelMessage {
        let call = |id: &&str| {
            ContentBlock::Call(ToolCallRequest { id: CallId((*id).into()), tool: "t".into(), input: "{}".into() })
        };
        ModelMessage::Assistant { content: ids.iter().map(call).collect() }
    }

    fn answers(ids: &[&str]) -> ModelMessage {
        let answer =
            |id: &&str| (CallId((*id).into()), ToolResult { status: ToolResultStatus::Done, text: String::new() });
        ModelMessage::Answers { answers: ids.iter().map(answer).collect() }
    }

    #[test]
    fn every_call_has_one_answer_right_after_it() {
        let user = || ModelMessage::user("x");
        assert_eq!(answered(&[user(), says(&["a", "b"]), answers(&["a", "b"]), says(&[]), user()]), Ok(()));
        let wrong = [
            vec![user(), says(&["a"])],
            vec![user(), says(&["a"]), user(), answers(&["a"])],
            vec![user(), says(&["a", "b"]), answers(&["b", "a"])],
            vec![user(), says(&["a"]), answers(&["a"]), answers(&["a"])],
            vec![user(), answers(&["a"])],
        ];
        for messages in wrong {
            assert!(answered(&messages).is_err(), "{messages:?}");
        }
    }

    #[test]
    fn a_compaction_is_told_from_a_history_that_changed() {
        let user = || ModelMessage::user("x");
        let before = [user(), says(&["a"]), answers(&["a"]), says(&["b"]), answers(&["b"])];
        assert!(is_digested(&before, &[ModelMessage::user("digest"), says(&["b"]), answers(&["b"]), user()]));
        assert!(is_digested(&before, &[ModelMessage::user("digest"), says(&["c"]), answers(&["c"])]));
        assert!(!is_digested(&before, &[ModelMessage::user("digest"), user()]));
        assert!(!is_digested(&before, &[says(&["b"]), answers(&["b"])]));
        let mut without = before.clone();
        let ModelMessage::Answers { answers } = &mut without[2] else { panic!() };
        answers[0].1.text = "left out".into();
        assert!(is_without_output(&before, &without));
        assert!(!is_without_output(&before, &without[..4]));
    }
}
