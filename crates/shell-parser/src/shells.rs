//! Shells started by a command: the text of `-c` is parsed like everything else.

use super::builtins;
use super::raw_command::{RawCommand, RawWord};
use super::resolve::InnerCommands;

/// Shells whose texts are parsed.
const PARSED_SHELLS: [&str; 4] = ["bash", "sh", "dash", "ash"];
/// Shells with another language.
#[rustfmt::skip]
const FOREIGN_SHELLS: [&str; 16] = [
    "zsh", "ksh", "mksh", "oksh", "fish", "csh", "tcsh", "rbash", "pwsh", "yash", "posh", "lksh", "osh", "nu", "elvish",
    "xonsh",
];

/// Text that bash parses differently than a plain shell.
const BASH_ONLY_SYNTAX: [&str; 12] = ["$'", "$\"", "&>", ">&", "|&", "<(", ">(", "<<<", "[[", "((", "+=", "=("];
/// Keywords of bash that a plain shell treats as programs.
const BASH_KEYWORDS: [&str; 4] = ["function", "coproc", "select", "time"];

pub(super) fn is_shell(base: &str) -> bool {
    PARSED_SHELLS.contains(&base) || FOREIGN_SHELLS.contains(&base)
}

/// What a shell runs.
pub(super) fn inner_commands(base: &str, raw: &RawCommand) -> InnerCommands {
    let mut runs = InnerCommands::default();
    if FOREIGN_SHELLS.contains(&base) {
        runs.risks.push("its language is not bash and cannot be parsed");
    }
    let mut rest = raw.args().iter();
    let mut text_follows = false;
    let operand = loop {
        let Some(arg) = rest.next() else { break None };
        let Some(text) = arg.text() else { break Some(arg) };
        match text {
            "--" | "-" => break rest.next(),
            "--version" | "--help" => return InnerCommands::itself(),
            "-o" | "+o" | "-eo" | "-euo" | "-uo" | "-exo" | "-euxo" | "-xeuo" => {
                if !rest.next().and_then(RawWord::text).is_some_and(builtins::is_named_setting) {
                    runs.risks.push("one of its options changes what it reads");
                }
            }
            "--norc" | "--noprofile" | "-p" => {}
            long if long.starts_with("--") => runs.risks.push("one of its options changes what it reads"),
            letters if letters.starts_with(['-', '+']) => {
                text_follows |= letters.contains('c');
                if letters.contains(|c| !"-ceuxfn".contains(c)) {
                    runs.risks.push("one of its options changes what it reads");
                }
            }
            _ => break Some(arg),
        }
    };
    match operand {
        Some(operand) if text_follows => add_text(base, operand, &mut runs),
        Some(operand) if operand.is_operand() && !operand.is_stream() && !raw.has_inline_input => {
            runs.lists_itself = true
        }
        Some(_) | None => runs.risks.push("its commands come from its input"),
    }
    runs.lists_itself |= !runs.risks.is_empty();
    runs
}

fn add_text(base: &str, operand: &RawWord, runs: &mut InnerCommands) {
    let Some(text) = operand.text() else {
        runs.lists_itself = true;
        runs.unclear = Some("its text is only known when it runs");
        return;
    };
    if base != "bash" && !is_portable(text) {
        runs.lists_itself = true;
        runs.unclear = Some("a shell other than bash may parse this text differently");
    }
    runs.texts.push(text.to_owned());
}

/// Whether every shell parses a text as bash does.
fn is_portable(text: &str) -> bool {
    let text = text.replace(">&1", "").replace(">&2", "");
    let expands = text.contains('{') && text.contains([',', '.']) && text.contains('}');
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| BASH_KEYWORDS.contains(&word));
    !expands && !words && !BASH_ONLY_SYNTAX.iter().any(|form| text.contains(form))
}
