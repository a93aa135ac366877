//! How to make room: the least that helps.

use model::Message;
use protocol::{Compaction, CompactionCause};

use super::Past;
use super::cut::{before_last, before_last_heard};
use super::digest::{self, Present};
use super::fold::fold;

/// How many turns stay as they are.
const RECENT: usize = 2;

/// Most bytes of a digest.
const DIGEST_MAX: usize = 64 * 1024;

/// Most bytes of a digest for a model whose window is not known.
const DIGEST_UNKNOWN: usize = 16 * 1024;

/// A conversation that needs room.
pub(crate) struct Plan<'a> {
    /// Its messages.
    pub(crate) messages: &'a [Message],
    /// What the first message stands for, if it is a digest.
    pub(crate) past: Option<&'a Past>,
    /// What holds now.
    pub(crate) present: &'a Present,
    /// How many tokens the model takes, if that is known.
    pub(crate) window: Option<u64>,
    /// How many tokens a request with such messages has.
    pub(crate) size: &'a dyn Fn(&[Message]) -> u64,
}

/// A compaction, and how many tokens a request has after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Made {
    /// The compaction.
    pub(crate) compaction: Compaction,
    /// The tokens.
    pub(crate) tokens: u64,
}

impl Plan<'_> {
    /// The mildest cut that leaves at most `aim` tokens. If none does, the one that leaves least, and beyond `limit`
    /// the hardest of all. Nothing when that is not worth it.
    pub(crate) fn down_to(&self, aim: u64, limit: u64) -> Option<Made> {
        let mut best: Option<Made> = None;
        for compaction in self.mild(aim) {
            let made = self.made(compaction);
            if made.tokens <= aim {
                return self.worth(made);
            }
            best = Some(smaller(best, made));
        }
        match best {
            Some(made) if made.tokens <= limit => self.worth(made),
            best => self.utmost().map(|made| smaller(best.clone(), made)).or_else(|| self.worth(best?)),
        }
    }

    /// As far as it goes: a digest for everything but the last turn.
    pub(crate) fn utmost(&self) -> Option<Made> {
        let cut = before_last(self.messages, 1)?;
        self.worth(self.made(self.digest(cut)))
    }

    /// Ways to cut that spare the recent turns, the mildest first: old output; what came before the user's last word,
    /// if what follows it is not too long; everything else.
    fn mild(&self, aim: u64) -> impl Iterator<Item = Compaction> {
        let recent = before_last(self.messages, RECENT);
        let outputs = recent.map(|cut| Compaction { messages: count(cut), digest: None, cause: CompactionCause::Full });
        let heard = before_last_heard(self.messages).zip(recent).map(|(heard, recent)| heard.min(recent));
        let is_short = |cut: &usize| (self.size)(&self.messages[*cut..]) <= aim;
        let cuts = [heard.filter(is_short), recent];
        outputs.into_iter().chain(cuts.into_iter().flatten().map(|cut| self.digest(cut)))
    }

    fn digest(&self, cut: usize) -> Compaction {
        let mut past = self.past.cloned().unwrap_or_default();
        past.absorb(&self.messages[usize::from(self.past.is_some())..cut]);
        let share = |window: u64| usize::try_from(window / 5).unwrap_or(usize::MAX).min(DIGEST_MAX);
        let digest = digest::write(&past, self.present, self.window.map_or(DIGEST_UNKNOWN, share));
        Compaction { messages: count(cut), digest: Some(digest), cause: CompactionCause::Full }
    }

    fn made(&self, compaction: Compaction) -> Made {
        let (mut messages, mut past) = (self.messages.to_vec(), self.past.cloned());
        fold(&mut messages, &mut past, &compaction);
        Made { tokens: (self.size)(&messages), compaction }
    }

    /// A compaction costs the provider's cache, so it must save something.
    fn worth(&self, made: Made) -> Option<Made> {
        let now = (self.size)(self.messages);
        (made.tokens < now - now / 20).then_some(made)
    }
}

fn smaller(one: Option<Made>, other: Made) -> Made {
    match one {
        Some(one) if one.tokens <= other.tokens => one,
        _ => other,
    }
}

fn count(cut: usize) -> u32 {
    u32::try_from(cut).unwrap_or(u32::MAX)
}
