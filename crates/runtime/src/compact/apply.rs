//! Applies a compaction to a conversation.

use model::ModelMessage;
use protocol::Compaction;

use super::cut::cut_at_boundary;
use super::history::CompactedHistory;
use super::stub::stub_answers;

/// Applies a compaction. A cut that would separate a call from its answer is made before the call.
pub(crate) fn apply_compaction(
    messages: &mut Vec<ModelMessage>,
    history: &mut Option<CompactedHistory>,
    compaction: &Compaction,
) {
    let requested = usize::try_from(compaction.messages).unwrap_or(usize::MAX);
    let cut = cut_at_boundary(messages, requested);
    match &compaction.digest {
        None => stub_answers(&mut messages[..cut]),
        Some(digest) => {
            let old_digest = usize::from(history.is_some()).min(cut);
            history.get_or_insert_default().add_messages(&messages[old_digest..cut]);
            messages.splice(..cut, [ModelMessage::user(digest)]);
        }
    }
}
