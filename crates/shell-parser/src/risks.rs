//! Reasons why a command may do more than its name says.

use super::options::{has_letter, is_long_option, possible_options};
use super::programs::{PROGRAMS, RiskyProgram};
use super::raw_command::{RawCommand, RawWord};
use super::{awk, git, sed, variables};

/// Programs that run their input if no file is named.
#[rustfmt::skip]
const INTERPRETERS: [&str; 16] = [
    "python", "python2", "python3", "pypy", "pypy3", "node", "nodejs", "deno", "bun", "ruby", "perl", "php", "lua",
    "luajit", "tclsh", "Rscript",
];

/// Returns every reason why a command may do more than its name says.
pub(super) fn command_risks(base: &str, raw: &RawCommand) -> Vec<String> {
    let args = raw.args();
    let mut risks = Vec::new();
    for (name, _) in raw.assignments.iter().filter(|(name, value)| !variables::is_harmless_assignment(name, value)) {
        risks.push(format!("it sets {name}, which programs may read"));
    }
    if raw.open_ended {
        risks.push("it gets further arguments when it runs".to_owned());
    }
    if args.iter().any(|arg| arg.text().is_none() && !arg.is_operand()) {
        risks.push("an argument is only known when it runs".to_owned());
    }
    let special = match base {
        "git" => git::risks(args),
        "sed" | "gsed" => sed::risks(args),
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => awk::risks(args),
        "tar" | "gtar" | "bsdtar" => tar_risk(args),
        "curl" => upload_risk(args),
        "uniq" | "xxd" => (max_operands(args) > 1).then(|| "it writes its second file".to_owned()),
        "crontab" => (!args.iter().any(|arg| arg.text() == Some("-l"))).then(|| "it runs commands later".to_owned()),
        _ if is_interpreter(base) => interpreter_risk(raw),
        _ => None,
    };
    risks.extend(special);
    let plain = without_version(base);
    risks.extend(PROGRAMS.iter().filter(|row| row.names.contains(&plain)).filter_map(|row| table_risk(row, args)));
    risks
}

/// Removes a version: `gcc-14` becomes `gcc`.
fn without_version(base: &str) -> &str {
    let version = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    base.rsplit_once('-').filter(|(_, end)| version(end)).map_or(base, |(name, _)| name)
}

fn is_interpreter(base: &str) -> bool {
    INTERPRETERS.contains(&base) || base.strip_prefix("python3.").is_some_and(|rest| rest.parse::<u8>().is_ok())
}

/// The risk of an interpreter that reads its program from its input, which no rule about arguments can see.
fn interpreter_risk(raw: &RawCommand) -> Option<String> {
    // The argument after these is not a program.
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

/// The maximum number of files in the arguments; a pattern counts as two.
fn max_operands(args: &[RawWord]) -> usize {
    args.iter().filter(|arg| arg.is_operand()).map(|arg| if arg.is_one_word() { 1 } else { 2 }).sum()
}

/// The risk that curl sends a file: a value after an `@` names one.
fn upload_risk(args: &[RawWord]) -> Option<String> {
    let sends = args.iter().any(|arg| arg.text().is_none_or(|text| text.contains('@')));
    sends.then(|| "one of its arguments may name a file to send".to_owned())
}

/// The risk of tar's options, which may have no dash in the first argument.
fn tar_risk(args: &[RawWord]) -> Option<String> {
    let first = args.first()?;
    let cluster = first.text().map(|text| format!("-{}", text.trim_start_matches('-')));
    let risky = cluster.is_none_or(|cluster| !cluster.contains('=') && has_letter(&cluster, "IFTgPK"));
    // An archive with a colon in its name is on another machine, reached with another program.
    let remote = args.iter().any(|arg| arg.text().is_some_and(|text| text.starts_with('-') && text.contains(':')));
    (remote || risky && first.text().is_none_or(|text| !text.starts_with("--")))
        .then(|| "one of its options names a program or a list of files".to_owned())
}

fn table_risk(row: &RiskyProgram, args: &[RawWord]) -> Option<String> {
    let risky = |text: &str| {
        has_letter(text, row.letters)
            || is_long_option(text, row.longs)
            || row.single_dash_longs && text.len() > 2 && is_long_option(&format!("-{text}"), row.longs)
            || row.words.iter().any(|word| matches_word(text, word))
    };
    let options = if row.undashed { args } else { possible_options(args) };
    let by_option = options.iter().filter_map(RawWord::text).any(risky);
    // A glob pattern may match one of the words that are not options.
    let names = row.words.iter().any(|word| !word.starts_with('-'));
    let by_name = names && args.iter().any(|arg| !arg.is_one_word());
    // An operand that is not fully known may contain one of the parts.
    let by_operand = !row.operands.is_empty()
        && args.iter().any(|arg| {
            arg.text().is_none_or(|text| !text.starts_with('-') && row.operands.iter().any(|part| text.contains(part)))
        });
    (row.always || by_option || by_name || by_operand).then(|| row.why.to_owned())
}

fn matches_word(text: &str, word: &str) -> bool {
    if let Some((before, after)) = word.split_once('*').filter(|(before, _)| !before.is_empty()) {
        let rest = text.strip_prefix(before);
        return rest.is_some_and(|rest| after.is_empty() || rest.contains(after.trim_end_matches('*')));
    }
    let contains_rest = word.strip_prefix('*').is_some_and(|end| text.contains(end.trim_end_matches('*')));
    contains_rest || text.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}
