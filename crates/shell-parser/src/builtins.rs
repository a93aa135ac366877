//! Shell builtins that run text, or change what later commands mean.

use super::raw_command::RawWord;
use super::{ShellWord, variables};

/// Builtins whose effect is always unclear.
#[rustfmt::skip]
const ALWAYS_UNCLEAR: [&str; 21] = [
    ".", "alias", "bind", "compgen", "complete", "compopt", "enable", "eval", "fc", "getopts", "hash", "history",
    "let", "logout", "mapfile", "readarray", "shopt", "source", "suspend", "trap", "unalias",
];

/// Why a builtin is unclear; `None` if its name says what it does.
pub(super) fn problem(name: &str, args: &[RawWord]) -> Option<&'static str> {
    const VARIABLE: &str = "it sets a variable that other programs may read";
    let known = |fits: &dyn Fn(&str) -> bool| args.iter().any(|arg| arg.text().is_some_and(fits));
    match name {
        name if ALWAYS_UNCLEAR.contains(&name) => Some("it runs text, or changes what later commands mean"),
        "set" => (!args.iter().all(|arg| arg.text().is_some_and(is_plain_setting)))
            .then_some("it changes what later commands mean"),
        "export" | "declare" | "typeset" | "local" | "readonly" => {
            let fits =
                if name == "export" { variables::is_harmless_assignment } else { variables::is_private_assignment };
            (!args.iter().all(|arg| declares_harmlessly(arg, fits))).then_some(VARIABLE)
        }
        "unset" => (!args.iter().all(|arg| arg.text().is_some_and(variables::is_private))).then_some(VARIABLE),
        "read" => (!reads_privately(args)).then_some(VARIABLE),
        "printf" => printf_sets_variable(args).then_some(VARIABLE),
        "test" | "[" => known(&|text| text == "-v" || text == "-R").then_some("it evaluates the name of a variable"),
        "wait" => known(&|text| text.starts_with("-") && text.contains('p')).then_some(VARIABLE),
        "jobs" => known(&|text| text.starts_with("-") && text.contains('x')).then_some("it runs another command"),
        _ => None,
    }
}

/// Whether a named shell option does not change what commands mean.
pub(super) fn is_named_setting(text: &str) -> bool {
    ["pipefail", "errexit", "nounset", "xtrace", "noglob", "noclobber", "errtrace"].contains(&text)
}

fn is_plain_setting(text: &str) -> bool {
    let letters = text.strip_prefix(['-', '+']).filter(|letters| !letters.is_empty());
    is_named_setting(text) || letters.is_some_and(|letters| letters.chars().all(|c| "euxfCEo".contains(c)))
}

/// Whether an argument declares only a harmless variable. Bash expands the text of a list even if it was quoted, so
/// the value must be known and not a list.
fn declares_harmlessly(arg: &RawWord, fits: fn(&str, &ShellWord) -> bool) -> bool {
    let Some(text) = arg.text() else { return false };
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    // A variable that is appended to, or exported as it is, is judged by its name alone.
    let value_known = text.contains('=') && !name.ends_with('+');
    let word = ShellWord::Known(if value_known { value.to_owned() } else { "C".to_owned() });
    let plain = !value.starts_with('(') && fits(name.strip_suffix('+').unwrap_or(name), &word);
    let plain = plain && (value_known || !variables::is_locale(name.strip_suffix('+').unwrap_or(name)));
    plain || ["-p", "-r", "-g"].contains(&text)
}

/// Whether `read` sets only variables that no program reads.
fn reads_privately(args: &[RawWord]) -> bool {
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.text() {
            Some("-r" | "-s") => {}
            Some("-d" | "-n" | "-N" | "-p" | "-t" | "-u") => {
                rest.next();
            }
            Some(name) if variables::is_private(name) => {}
            Some(_) | None => return false,
        }
    }
    true
}

/// Whether `printf` sets a variable, with `-v` or `%n`.
fn printf_sets_variable(args: &[RawWord]) -> bool {
    let format = args.iter().filter_map(RawWord::text).find(|text| *text != "--").unwrap_or_default();
    let flag = |c: char| !c.is_ascii_alphabetic() || "hjlLtz".contains(c);
    let counts = format.split('%').skip(1).any(|rest| rest.trim_start_matches(flag).starts_with('n'));
    counts || format.starts_with("-v")
}
