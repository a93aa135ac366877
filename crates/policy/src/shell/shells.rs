//! Shells that are started by a command: what `-c` says is read like everything else.

use super::builtins;
use super::raw::{Raw, Spelled};
use super::settle::Runs;

/// Shells whose texts are read.
const READ: [&str; 4] = ["bash", "sh", "dash", "ash"];
/// Shells whose language is another one.
#[rustfmt::skip]
const FOREIGN: [&str; 16] = [
    "zsh", "ksh", "mksh", "oksh", "fish", "csh", "tcsh", "rbash", "pwsh", "yash", "posh", "lksh", "osh", "nu", "elvish",
    "xonsh",
];

/// What bash reads differently than a plain shell.
const ONLY_BASH: [&str; 12] = ["$'", "$\"", "&>", ">&", "|&", "<(", ">(", "<<<", "[[", "((", "+=", "=("];
/// Words of bash that a plain shell takes for programs.
const WORDS_OF_BASH: [&str; 4] = ["function", "coproc", "select", "time"];

pub(super) fn is_shell(base: &str) -> bool {
    READ.contains(&base) || FOREIGN.contains(&base)
}

/// What a shell runs.
pub(super) fn runs(base: &str, raw: &Raw) -> Runs {
    let mut runs = Runs::default();
    if FOREIGN.contains(&base) {
        runs.tricks.push("its language is not the one that is read here");
    }
    let mut rest = raw.args().iter();
    let mut text_follows = false;
    let operand = loop {
        let Some(arg) = rest.next() else { break None };
        let Some(text) = arg.text() else { break Some(arg) };
        match text {
            "--" | "-" => break rest.next(),
            "--version" | "--help" => return Runs::itself(),
            "-o" | "+o" | "-eo" | "-euo" | "-uo" | "-exo" | "-euxo" | "-xeuo" => {
                if !rest.next().and_then(Spelled::text).is_some_and(builtins::is_named_setting) {
                    runs.tricks.push("one of its options changes what it reads");
                }
            }
            "--norc" | "--noprofile" | "-p" => {}
            long if long.starts_with("--") => runs.tricks.push("one of its options changes what it reads"),
            letters if letters.starts_with(['-', '+']) => {
                text_follows |= letters.contains('c');
                if letters.contains(|c| !"-ceuxfn".contains(c)) {
                    runs.tricks.push("one of its options changes what it reads");
                }
            }
            _ => break Some(arg),
        }
    };
    match operand {
        Some(operand) if text_follows => text(base, operand, &mut runs),
        Some(operand) if operand.is_operand() && !operand.is_stream() && !raw.fed => runs.listed = true,
        Some(_) | None => runs.tricks.push("its commands come from its input"),
    }
    runs.listed |= !runs.tricks.is_empty();
    runs
}

fn text(base: &str, operand: &Spelled, runs: &mut Runs) {
    let Some(text) = operand.text() else {
        runs.listed = true;
        runs.unclear = Some("the text that it runs is only known when it runs");
        return;
    };
    if base != "bash" && !is_portable(text) {
        runs.listed = true;
        runs.unclear = Some("another shell than bash may read this text differently");
    }
    runs.texts.push(text.to_owned());
}

/// Whether every shell reads a text as bash does.
fn is_portable(text: &str) -> bool {
    let text = text.replace(">&1", "").replace(">&2", "");
    let expands = text.contains('{') && text.contains([',', '.']) && text.contains('}');
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| WORDS_OF_BASH.contains(&word));
    !expands && !words && !ONLY_BASH.iter().any(|form| text.contains(form))
}
