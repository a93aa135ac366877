//! Commands as they are written, before anything is known of the programs.

use std::collections::BTreeSet;

use super::{Redirect, Unclear, When, Word};

/// What our reader finds in a text.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) commands: Vec<Raw>,
    pub(super) files: Vec<Redirect>,
    pub(super) unclear: Vec<Unclear>,
    /// Where in the text commands begin.
    pub(super) starts: BTreeSet<usize>,
}

/// A simple command as it is written.
#[derive(Debug, Clone, Default)]
pub(super) struct Raw {
    /// The name and the arguments.
    pub(super) words: Vec<Spelled>,
    pub(super) sets: Vec<(String, Word)>,
    /// What it runs through, outermost first.
    pub(super) through: Vec<String>,
    /// Whether the text itself is its input: a here-document or a here-string.
    pub(super) fed: bool,
    /// Whether it gets more arguments than these when it runs.
    pub(super) open_ended: bool,
    pub(super) when: When,
}

/// A word, and what is known of it.
#[derive(Debug, Clone)]
pub(super) struct Spelled {
    pub(super) word: Word,
    /// What it certainly begins with.
    pub(super) prefix: String,
    /// Whether it may become several words, or none.
    pub(super) splits: bool,
    /// Whether it is written without quotes, escapes and expansions.
    pub(super) plain: bool,
}

impl Spelled {
    pub(super) fn known(text: &str) -> Spelled {
        Spelled { word: Word::Known(text.to_owned()), prefix: text.to_owned(), splits: false, plain: false }
    }

    /// A word that only the shell knows; it begins with `prefix`.
    pub(super) fn unknown(written: &str, prefix: &str) -> Spelled {
        let word = Word::Unknown(written.to_owned());
        Spelled { word, prefix: prefix.to_owned(), splits: false, plain: false }
    }

    /// The exact text, where it is known.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.word {
            Word::Known(text) => Some(text),
            Word::Glob(_) | Word::Unknown(_) => None,
        }
    }

    /// As it is written, or as it is where that is known.
    pub(super) fn shown(&self) -> &str {
        match &self.word {
            Word::Known(text) | Word::Glob(text) | Word::Unknown(text) => text,
        }
    }

    /// Whether it names an open stream instead of a file.
    pub(super) fn is_stream(&self) -> bool {
        self.prefix.starts_with("/dev/") || self.prefix.starts_with("/proc/")
    }

    /// Whether it stays one word when the shell expands it.
    pub(super) fn is_one_word(&self) -> bool {
        match self.word {
            Word::Known(_) => true,
            Word::Glob(_) => false,
            Word::Unknown(_) => !self.splits,
        }
    }

    /// Whether it cannot be an option, nor anything but one argument.
    pub(super) fn is_operand(&self) -> bool {
        match &self.word {
            Word::Known(text) => !text.starts_with('-') || text == "-",
            Word::Glob(_) => true,
            Word::Unknown(_) => !self.splits && !self.prefix.is_empty() && !self.prefix.starts_with('-'),
        }
    }
}

impl Raw {
    /// The program's name, where it is known.
    pub(super) fn name(&self) -> Option<&str> {
        self.words.first().and_then(Spelled::text).filter(|name| !name.is_empty())
    }

    /// Its arguments.
    pub(super) fn args(&self) -> &[Spelled] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The command as people read it.
    pub(super) fn shown(&self) -> String {
        self.words.iter().map(Spelled::shown).collect::<Vec<_>>().join(" ")
    }

    /// The command that it runs: these words, through itself.
    pub(super) fn inner(&self, words: &[Spelled]) -> Raw {
        let mut through = self.through.clone();
        through.extend(self.name().map(str::to_owned));
        Raw { words: words.to_vec(), through, when: When::Elsewhere, ..self.clone() }
    }
}
