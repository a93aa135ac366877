//! Why a command may do more than its name says.

use super::options::{before_operands, has_letter, is_long};
use super::programs::{PROGRAMS, RiskyProgram};
use super::raw_command::{RawCommand, RawWord};
use super::{awk, git, sed, variables};

/// Programs that run the text they read when nobody names a file.
#[rustfmt::skip]
const INTERPRETERS: [&str; 16] = [
    "python", "python2", "python3", "pypy", "pypy3", "node", "nodejs", "deno", "bun", "ruby", "perl", "php", "lua",
    "luajit", "tclsh", "Rscript",
];

/// Every reason why a command may do more than its name says.
pub(super) fn command_risks(base: &str, raw: &RawCommand) -> Vec<String> {
    let args = raw.args();
    let mut tricks = Vec::new();
    for (name, _) in raw.assignments.iter().filter(|(name, value)| !variables::is_harmless_set(name, value)) {
        tricks.push(format!("it sets {name}, which programs may listen to"));
    }
    if raw.open_ended {
        tricks.push("it gets further arguments when it runs".to_owned());
    }
    if args.iter().any(|arg| arg.text().is_none() && !arg.is_operand()) {
        tricks.push("an argument is only known when it runs".to_owned());
    }
    let special = match base {
        "git" => git::risks(args),
        "sed" | "gsed" => sed::risks(args),
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => awk::risks(args),
        "tar" | "gtar" | "bsdtar" => old_style(args),
        "curl" => sends(args),
        "uniq" | "xxd" => (operands(args) > 1).then(|| "its second file is written".to_owned()),
        "crontab" => (!args.iter().any(|arg| arg.text() == Some("-l"))).then(|| "it runs commands later".to_owned()),
        _ if is_interpreter(base) => interpreter(raw),
        _ => None,
    };
    tricks.extend(special);
    let plain = without_version(base);
    tricks.extend(PROGRAMS.iter().filter(|row| row.names.contains(&plain)).filter_map(|row| by_row(row, args)));
    tricks
}

/// The name of `gcc-14` is `gcc`.
fn without_version(base: &str) -> &str {
    let version = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    base.rsplit_once('-').filter(|(_, end)| version(end)).map_or(base, |(name, _)| name)
}

fn is_interpreter(base: &str) -> bool {
    INTERPRETERS.contains(&base) || base.strip_prefix("python3.").is_some_and(|rest| rest.parse::<u8>().is_ok())
}

/// A program on the input is nothing that a rule on arguments can see.
fn interpreter(raw: &RawCommand) -> Option<String> {
    // What follows these is not a program yet.
    let valued = ["-W", "-X", "-r", "--require", "--import", "-I", "-C", "-d", "-L"];
    let mut rest = raw.args().iter();
    let mut names_program = false;
    while let Some(arg) = rest.next() {
        names_program |= match arg.text() {
            Some("-") => false,
            Some(text) if valued.contains(&text) => {
                rest.next();
                false
            }
            _ if arg.is_stream() => false,
            Some(text) => !text.starts_with('-') || ["--version", "--help", "-V", "-v", "-h"].contains(&text),
            None => arg.is_operand(),
        };
    }
    (raw.has_inline_input || !names_program).then(|| "its program comes from its input".to_owned())
}

/// How many files a command is given at most, where a pattern may find a second one.
fn operands(args: &[RawWord]) -> usize {
    args.iter().filter(|arg| arg.is_operand()).map(|arg| if arg.is_one_word() { 1 } else { 2 }).sum()
}

/// With an `@` before it, a value of curl is a file to be sent.
fn sends(args: &[RawWord]) -> Option<String> {
    let sends = args.iter().any(|arg| arg.text().is_none_or(|text| text.contains('@')));
    sends.then(|| "one of its arguments may name a file to send".to_owned())
}

/// The first argument of tar may be options without a dash.
fn old_style(args: &[RawWord]) -> Option<String> {
    let first = args.first()?;
    let cluster = first.text().map(|text| format!("-{}", text.trim_start_matches('-')));
    let risky = cluster.is_none_or(|cluster| !cluster.contains('=') && has_letter(&cluster, "IFTgPK"));
    // An archive with a colon in its name is on another machine, which a program of its own reaches.
    let remote = args.iter().any(|arg| arg.text().is_some_and(|text| text.starts_with('-') && text.contains(':')));
    (remote || risky && first.text().is_none_or(|text| !text.starts_with("--")))
        .then(|| "one of its options names a program or a list of files".to_owned())
}

fn by_row(row: &RiskyProgram, args: &[RawWord]) -> Option<String> {
    let risky = |text: &str| {
        has_letter(text, row.letters)
            || is_long(text, row.longs)
            || row.one_dash && text.len() > 2 && is_long(&format!("-{text}"), row.longs)
            || row.words.iter().any(|word| is_word(text, word))
    };
    let options = if row.undashed { args } else { before_operands(args) };
    let by_option = options.iter().filter_map(RawWord::text).any(risky);
    // A pattern of file names may find one of the words that are no options.
    let names = row.words.iter().any(|word| !word.starts_with('-'));
    let by_name = names && args.iter().any(|arg| !arg.is_one_word());
    // An operand that is not wholly known may hold what is looked for.
    let by_operand = !row.operands.is_empty()
        && args.iter().any(|arg| {
            arg.text().is_none_or(|text| !text.starts_with('-') && row.operands.iter().any(|part| text.contains(part)))
        });
    (row.always || by_option || by_name || by_operand).then(|| row.why.to_owned())
}

fn is_word(text: &str, word: &str) -> bool {
    if let Some((before, after)) = word.split_once('*').filter(|(before, _)| !before.is_empty()) {
        let rest = text.strip_prefix(before);
        return rest.is_some_and(|rest| after.is_empty() || rest.contains(after.trim_end_matches('*')));
    }
    let ending = word.strip_prefix('*').is_some_and(|end| text.contains(end.trim_end_matches('*')));
    ending || text.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}
