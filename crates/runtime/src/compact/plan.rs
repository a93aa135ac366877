//! Plans the mildest compaction that is enough.

use model::ModelMessage;
use protocol::{Compaction, CompactionCause};

use super::CompactedHistory;
use super::apply::apply_compaction;
use super::cut::{last_user_message, start_of_last_turns};
use super::digest::{self, CurrentState};

/// How many turns stay unchanged.
const KEPT_TURNS: usize = 2;

/// The most bytes of a digest.
const MAX_DIGEST_BYTES: usize = 64 * 1024;

/// The most bytes of a digest for a model whose window is unknown.
const DEFAULT_DIGEST_BYTES: usize = 16 * 1024;

/// Plans the compaction of a conversation.
pub(crate) struct CompactionPlan<'a> {
    /// The conversation's messages.
    pub(crate) messages: &'a [ModelMessage],
    /// The messages that the first message replaces, if it is a digest.
    pub(crate) history: Option<&'a CompactedHistory>,
    /// The current state.
    pub(crate) current: &'a CurrentState,
    /// The model's window in tokens, if known.
    pub(crate) window: Option<u64>,
    /// Returns the tokens of a request with these messages.
    pub(crate) request_tokens: &'a dyn Fn(&[ModelMessage]) -> u64,
}

/// A compaction and its effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlannedCompaction {
    /// The compaction.
    pub(crate) compaction: Compaction,
    /// The tokens of a request after the compaction.
    pub(crate) tokens: u64,
}

impl CompactionPlan<'_> {
    /// The mildest compaction that leaves at most `target` tokens. If none does, the one that leaves the least; if that
    /// is above `limit`, the strongest one. Returns nothing if it is not worthwhile.
    pub(crate) fn mildest_compaction(&self, target: u64, limit: u64) -> Option<PlannedCompaction> {
        let mut best: Option<PlannedCompaction> = None;
        for compaction in self.mild_compactions(target) {
            let planned = self.measure(compaction);
            if planned.tokens <= target {
                return self.if_worthwhile(planned);
            }
            best = Some(smaller(best, planned));
        }
        match best {
            Some(planned) if planned.tokens <= limit => self.if_worthwhile(planned),
            best => self
                .strongest_compaction()
                .map(|planned| smaller(best.clone(), planned))
                .or_else(|| self.if_worthwhile(best?)),
        }
    }

    /// The strongest compaction: a digest of everything but the last turn.
    pub(crate) fn strongest_compaction(&self) -> Option<PlannedCompaction> {
        let cut = start_of_last_turns(self.messages, 1)?;
        self.if_worthwhile(self.measure(self.digest_compaction(cut)))
    }

    /// Compactions that keep the recent turns, the mildest first: leave out old tool output; replace everything before
    /// the user's last message, if the rest is not too long; replace everything before the recent turns.
    fn mild_compactions(&self, target: u64) -> impl Iterator<Item = Compaction> {
        let recent = start_of_last_turns(self.messages, KEPT_TURNS);
        let without_output =
            recent.map(|cut| Compaction { messages: to_count(cut), digest: None, cause: CompactionCause::ContextFull });
        let last_message = last_user_message(self.messages).zip(recent).map(|(last, recent)| last.min(recent));
        let is_short = |cut: &usize| (self.request_tokens)(&self.messages[*cut..]) <= target;
        let cuts = [last_message.filter(is_short), recent];
        without_output.into_iter().chain(cuts.into_iter().flatten().map(|cut| self.digest_compaction(cut)))
    }

    fn digest_compaction(&self, cut: usize) -> Compaction {
        let mut history = self.history.cloned().unwrap_or_default();
        history.add_messages(&self.messages[usize::from(self.history.is_some())..cut]);
        let digest_limit = |window: u64| usize::try_from(window / 5).unwrap_or(usize::MAX).min(MAX_DIGEST_BYTES);
        let digest =
            digest::write_digest(&history, self.current, self.window.map_or(DEFAULT_DIGEST_BYTES, digest_limit));
        Compaction { messages: to_count(cut), digest: Some(digest), cause: CompactionCause::ContextFull }
    }

    fn measure(&self, compaction: Compaction) -> PlannedCompaction {
        let (mut messages, mut history) = (self.messages.to_vec(), self.history.cloned());
        apply_compaction(&mut messages, &mut history, &compaction);
        PlannedCompaction { tokens: (self.request_tokens)(&messages), compaction }
    }

    /// Returns the compaction if it saves enough to be worth losing the provider's cache.
    fn if_worthwhile(&self, planned: PlannedCompaction) -> Option<PlannedCompaction> {
        let current_tokens = (self.request_tokens)(self.messages);
        (planned.tokens < current_tokens - current_tokens / 20).then_some(planned)
    }
}

fn smaller(first: Option<PlannedCompaction>, other: PlannedCompaction) -> PlannedCompaction {
    match first {
        Some(first) if first.tokens <= other.tokens => first,
        _ => other,
    }
}

fn to_count(cut: usize) -> u32 {
    u32::try_from(cut).unwrap_or(u32::MAX)
}
