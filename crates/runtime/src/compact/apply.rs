//! Applies a compaction to a conversation.

use model::ModelMessage;
use protocol::Compaction;

use super::cut::cut_at_boundary;
use super::history::CompactedHistory;
use super::stub::stub_answers;

/// Applies a compaction. A cut that would separate a call from its answer is made before the call.
pub(crate) fn apply_compaction(
    messages: &mut Vec<ModelMessage>,
    past: &mut Option<CompactedHistory>,
    compaction: &Compaction,
) {
    let wanted = usize::try_from(compaction.messages).unwrap_or(usize::MAX);
    let cut = cut_at_boundary(messages, wanted);
    match &compaction.digest {
        None => stub_answers(&mut messages[..cut]),
        Some(digest) => {
            let earlier = usize::from(past.is_some()).min(cut);
            past.get_or_insert_default().absorb(&messages[earlier..cut]);
            messages.splice(..cut, [ModelMessage::user(digest)]);
        }
    }
}
