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

/// A conversation that needs compaction.
pub(crate) struct CompactionPlan<'a> {
    /// Its messages.
    pub(crate) messages: &'a [ModelMessage],
    /// What the first message replaces, if it is a digest.
    pub(crate) history: Option<&'a CompactedHistory>,
    /// The current state.
    pub(crate) current: &'a CurrentState,
    /// The model's window in tokens, if known.
    pub(crate) window: Option<u64>,
    /// Returns the tokens of a request with these messages.
    pub(crate) size: &'a dyn Fn(&[ModelMessage]) -> u64,
}

/// A compaction, and how many tokens a request has after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlannedCompaction {
    /// The compaction.
    pub(crate) compaction: Compaction,
    /// The tokens.
    pub(crate) tokens: u64,
}

impl CompactionPlan<'_> {
    /// The mildest cut that leaves at most `aim` tokens. If none does, the cut that leaves the least; if that is above
    /// `limit`, the hardest cut. Returns nothing if it is not worthwhile.
    pub(crate) fn mildest_cut(&self, aim: u64, limit: u64) -> Option<PlannedCompaction> {
        let mut best: Option<PlannedCompaction> = None;
        for compaction in self.mild_cuts(aim) {
            let made = self.measure(compaction);
            if made.tokens <= aim {
                return self.if_worthwhile(made);
            }
            best = Some(smaller(best, made));
        }
        match best {
            Some(made) if made.tokens <= limit => self.if_worthwhile(made),
            best => self.hardest_cut().map(|made| smaller(best.clone(), made)).or_else(|| self.if_worthwhile(best?)),
        }
    }

    /// The hardest cut: a digest for everything but the last turn.
    pub(crate) fn hardest_cut(&self) -> Option<PlannedCompaction> {
        let cut = start_of_last_turns(self.messages, 1)?;
        self.if_worthwhile(self.measure(self.digest(cut)))
    }

    /// Cuts that spare the recent turns, the mildest first: old output; everything before the user's last message, if
    /// what follows it is not too long; everything else.
    fn mild_cuts(&self, aim: u64) -> impl Iterator<Item = Compaction> {
        let recent = start_of_last_turns(self.messages, KEPT_TURNS);
        let outputs =
            recent.map(|cut| Compaction { messages: count(cut), digest: None, cause: CompactionCause::ContextFull });
        let last_message = last_user_message(self.messages).zip(recent).map(|(last, recent)| last.min(recent));
        let is_short = |cut: &usize| (self.size)(&self.messages[*cut..]) <= aim;
        let cuts = [last_message.filter(is_short), recent];
        outputs.into_iter().chain(cuts.into_iter().flatten().map(|cut| self.digest(cut)))
    }

    fn digest(&self, cut: usize) -> Compaction {
        let mut past = self.history.cloned().unwrap_or_default();
        past.absorb(&self.messages[usize::from(self.history.is_some())..cut]);
        let share = |window: u64| usize::try_from(window / 5).unwrap_or(usize::MAX).min(MAX_DIGEST_BYTES);
        let digest = digest::write_digest(&past, self.current, self.window.map_or(DEFAULT_DIGEST_BYTES, share));
        Compaction { messages: count(cut), digest: Some(digest), cause: CompactionCause::ContextFull }
    }

    fn measure(&self, compaction: Compaction) -> PlannedCompaction {
        let (mut messages, mut past) = (self.messages.to_vec(), self.history.cloned());
        apply_compaction(&mut messages, &mut past, &compaction);
        PlannedCompaction { tokens: (self.size)(&messages), compaction }
    }

    /// A compaction costs the provider's cache, so it must save something.
    fn if_worthwhile(&self, made: PlannedCompaction) -> Option<PlannedCompaction> {
        let now = (self.size)(self.messages);
        (made.tokens < now - now / 20).then_some(made)
    }
}

fn smaller(one: Option<PlannedCompaction>, other: PlannedCompaction) -> PlannedCompaction {
    match one {
        Some(one) if one.tokens <= other.tokens => one,
        _ => other,
    }
}

fn count(cut: usize) -> u32 {
    u32::try_from(cut).unwrap_or(u32::MAX)
}
