//! What stands for an answer that is left out.

use model::Message;
use protocol::{Answer, Call, CallId};

use super::cut::calls;
use super::gist::gist;

/// Answers up to this size are kept: a stub would not be much smaller.
pub(super) const SMALL: usize = 320;

/// Puts stubs for the long answers in `messages`. Ids and statuses stay, and a stub is never replaced again.
pub(super) fn stub_answers(messages: &mut [Message]) {
    for at in 1..messages.len() {
        let (before, rest) = messages.split_at_mut(at);
        if let Message::Answers { answers } = &mut rest[0] {
            let asked: Vec<&Call> = calls(&before[at - 1]).collect();
            for (id, answer) in answers.iter_mut().filter(|(_, answer)| answer.text.len() > SMALL) {
                answer.text = stub(&asked, id, answer);
            }
        }
    }
}

fn stub(asked: &[&Call], id: &CallId, answer: &Answer) -> String {
    let about = asked.iter().find(|call| call.id == *id).map(|call| gist(call)).unwrap_or_default();
    format!(
        "[The answer to `{about}`, {} bytes, was left out to make room. Make the call again if you need it.]",
        answer.text.len()
    )
}
