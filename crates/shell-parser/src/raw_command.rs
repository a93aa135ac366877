//! Commands as written, before anything is known about the programs.

use std::collections::BTreeSet;

use super::{CommandTiming, Redirect, ShellWord, UnclearPart};

/// What our parser finds in a text.
#[derive(Debug, Default)]
pub(super) struct RawScript {
    pub(super) commands: Vec<RawCommand>,
    pub(super) files: Vec<Redirect>,
    pub(super) unclear: Vec<UnclearPart>,
    /// Where in the text commands begin.
    pub(super) starts: BTreeSet<usize>,
}

/// A simple command as written.
#[derive(Debug, Clone, Default)]
pub(super) struct RawCommand {
    /// The name and the arguments.
    pub(super) words: Vec<RawWord>,
    pub(super) assignments: Vec<(String, ShellWord)>,
    /// The programs it runs through, outermost first.
    pub(super) wrappers: Vec<String>,
    /// Whether its input is in the text: a here-document or a here-string.
    pub(super) has_inline_input: bool,
    /// Whether its wrapper adds arguments when it runs.
    pub(super) open_ended: bool,
    pub(super) timing: CommandTiming,
}

/// A word and what is known about it.
#[derive(Debug, Clone)]
pub(super) struct RawWord {
    pub(super) word: ShellWord,
    /// Its known beginning.
    pub(super) prefix: String,
    /// Whether it may expand to several words, or none.
    pub(super) splits: bool,
    /// Whether it is written without quotes, escapes and expansions.
    pub(super) plain: bool,
}

impl RawWord {
    pub(super) fn known(text: &str) -> RawWord {
        RawWord { word: ShellWord::Known(text.to_owned()), prefix: text.to_owned(), splits: false, plain: false }
    }

    /// A word that only the shell knows; it begins with `prefix`.
    pub(super) fn unknown(written: &str, prefix: &str) -> RawWord {
        let word = ShellWord::Unknown(written.to_owned());
        RawWord { word, prefix: prefix.to_owned(), splits: false, plain: false }
    }

    /// The exact text, if known.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.word {
            ShellWord::Known(text) => Some(text),
            ShellWord::Glob(_) | ShellWord::Unknown(_) => None,
        }
    }

    /// Its text if known, else as written.
    pub(super) fn display(&self) -> &str {
        match &self.word {
            ShellWord::Known(text) | ShellWord::Glob(text) | ShellWord::Unknown(text) => text,
        }
    }

    /// Whether it names an open stream instead of a file.
    pub(super) fn is_stream(&self) -> bool {
        self.prefix.starts_with("/dev/") || self.prefix.starts_with("/proc/")
    }

    /// Whether it stays one word when the shell expands it.
    pub(super) fn is_one_word(&self) -> bool {
        match self.word {
            ShellWord::Known(_) => true,
            ShellWord::Glob(_) => false,
            ShellWord::Unknown(_) => !self.splits,
        }
    }

    /// Whether it is certainly one argument and not an option.
    pub(super) fn is_operand(&self) -> bool {
        match &self.word {
            ShellWord::Known(text) => !text.starts_with('-') || text == "-",
            ShellWord::Glob(_) => true,
            ShellWord::Unknown(_) => !self.splits && !self.prefix.is_empty() && !self.prefix.starts_with('-'),
        }
    }
}

impl RawCommand {
    /// The program's name, if known.
    pub(super) fn name(&self) -> Option<&str> {
        self.words.first().and_then(RawWord::text).filter(|name| !name.is_empty())
    }

    /// Its arguments.
    pub(super) fn args(&self) -> &[RawWord] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The command for display.
    pub(super) fn display(&self) -> String {
        self.words.iter().map(RawWord::display).collect::<Vec<_>>().join(" ")
    }

    /// The command with these words that this command runs, with this command as a wrapper.
    pub(super) fn inner_command(&self, words: &[RawWord]) -> RawCommand {
        let mut wrappers = self.wrappers.clone();
        wrappers.extend(self.name().map(str::to_owned));
        RawCommand { words: words.to_vec(), wrappers, timing: CommandTiming::Unordered, ..self.clone() }
    }
}
