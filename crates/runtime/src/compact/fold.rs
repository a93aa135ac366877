//! What a compaction does to a conversation.

use model::Message;
use protocol::Compaction;

use super::cut::whole;
use super::past::Past;
use super::stub::stub_answers;

/// Does what was decided. A cut that would part a call from its answer is made before the call.
pub(crate) fn fold(messages: &mut Vec<Message>, past: &mut Option<Past>, compaction: &Compaction) {
    let wanted = usize::try_from(compaction.messages).unwrap_or(usize::MAX);
    let cut = whole(messages, wanted);
    match &compaction.digest {
        None => stub_answers(&mut messages[..cut]),
        Some(digest) => {
            let earlier = usize::from(past.is_some()).min(cut);
            past.get_or_insert_default().absorb(&messages[earlier..cut]);
            messages.splice(..cut, [Message::user(digest)]);
        }
    }
}
