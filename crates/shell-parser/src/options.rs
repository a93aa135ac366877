//! Option syntax of programs.

use super::raw_command::RawWord;

/// The options of a program that runs another program.
#[derive(Debug, Clone, Copy)]
pub(super) struct OptionSyntax {
    /// Letters without a value.
    pub(super) flags: &'static str,
    /// Letters that take a value, attached or as the next argument.
    pub(super) valued: &'static str,
    /// Letters that take a value only when it is attached.
    pub(super) attached: &'static str,
    /// Long options without a value, or with the value after `=`.
    pub(super) long_flags: &'static [&'static str],
    /// Long options that take a value.
    pub(super) long_valued: &'static [&'static str],
}

/// No options.
pub(super) const NO_OPTIONS: OptionSyntax =
    OptionSyntax { flags: "", valued: "", attached: "", long_flags: &[], long_valued: &[] };

impl OptionSyntax {
    /// Where the operands begin; `None` if an option is unknown or only known when it runs.
    pub(super) fn operands_start(&self, args: &[RawWord]) -> Option<usize> {
        let mut at = 0;
        while let Some(arg) = args.get(at) {
            let text = match arg.text() {
                Some(text) => text,
                None if arg.is_operand() => return Some(at),
                None => return None,
            };
            let taken = match text {
                "--" => return Some(at + 1),
                "-" => return Some(at),
                long if long.starts_with("--") => self.long_arguments(long.trim_start_matches("--"))?,
                cluster if cluster.starts_with('-') => self.cluster_arguments(cluster.trim_start_matches('-'))?,
                _ => return Some(at),
            };
            // A value that expands to several words shifts everything after it.
            args.get(at + taken - 1).filter(|value| value.is_one_word())?;
            at += taken;
        }
        Some(at)
    }

    /// How many arguments a long option takes, including itself.
    fn long_arguments(&self, option: &str) -> Option<usize> {
        let (name, attached) = option.split_once('=').map_or((option, false), |(name, _)| (name, true));
        if self.long_valued.contains(&name) {
            return Some(if attached { 1 } else { 2 });
        }
        self.long_flags.contains(&name).then_some(1)
    }

    /// How many arguments a cluster of letters takes, including itself.
    fn cluster_arguments(&self, letters: &str) -> Option<usize> {
        for (at, letter) in letters.char_indices() {
            if self.attached.contains(letter) {
                return Some(1);
            }
            if self.valued.contains(letter) {
                return Some(if at + letter.len_utf8() == letters.len() { 2 } else { 1 });
            }
            if !self.flags.contains(letter) {
                return None;
            }
        }
        Some(1)
    }
}

/// Whether an argument is, or may be short for, one of these long options.
pub(super) fn is_long_option(text: &str, names: &[&str]) -> bool {
    let Some(name) = text.strip_prefix("--").and_then(|rest| rest.split('=').next()) else { return false };
    !name.is_empty() && names.iter().any(|long| long.starts_with(name))
}

/// Whether an argument is a cluster of short options with one of these letters.
pub(super) fn has_letter(text: &str, letters: &str) -> bool {
    let cluster = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    cluster.is_some_and(|cluster| cluster.contains(|c| letters.contains(c)))
}

/// The arguments that may be options: those before `--`. Right after an option, `--` may be its value.
pub(super) fn possible_options(args: &[RawWord]) -> &[RawWord] {
    let ends = |at: &usize| {
        let value = at.checked_sub(1).and_then(|before| args.get(before)).is_some_and(|before| !before.is_operand());
        !value && args.get(*at).and_then(RawWord::text) == Some("--")
    };
    let end = (0..args.len()).find(ends).unwrap_or(args.len());
    args.get(..end).unwrap_or_default()
}
