//! Programs that run the command in their own arguments.

use super::options::{NONE, Shape, has_letter, is_long};
use super::raw::{Raw, Spelled};
use super::settle::Runs;
use super::{Word, find, shells, variables};

const OPTION: &str = "one of its options is not known, so what it runs is not either";

/// A program that runs the command after its options.
struct Wrapper {
    name: &'static str,
    shape: Shape,
    /// How many operands stand before the command.
    operands: usize,
}

const fn wrapper(name: &'static str, shape: Shape) -> Wrapper {
    Wrapper { name, shape, operands: 0 }
}

const WRAPPERS: [Wrapper; 13] = [
    wrapper("nohup", NONE),
    wrapper("busybox", NONE),
    wrapper("toybox", NONE),
    wrapper("builtin", NONE),
    wrapper("exec", NONE),
    wrapper("nice", Shape { valued: "n", flags: "0123456789", long_valued: &["adjustment"], ..NONE }),
    wrapper(
        "ionice",
        Shape { flags: "t", valued: "cn", long_flags: &["ignore"], long_valued: &["class", "classdata"], ..NONE },
    ),
    wrapper(
        "time",
        Shape { flags: "pv", valued: "f", long_flags: &["portability", "verbose"], long_valued: &["format"], ..NONE },
    ),
    wrapper("stdbuf", Shape { valued: "ioe", long_valued: &["input", "output", "error"], ..NONE }),
    wrapper("setsid", Shape { flags: "cfw", long_flags: &["ctty", "fork", "wait"], ..NONE }),
    Wrapper {
        operands: 1,
        ..wrapper(
            "timeout",
            Shape {
                flags: "fpv",
                valued: "ks",
                long_flags: &["foreground", "preserve-status", "verbose"],
                long_valued: &["kill-after", "signal"],
                ..NONE
            },
        )
    },
    Wrapper {
        operands: 1,
        ..wrapper("chrt", Shape { flags: "bfiorR", long_flags: &["batch", "fifo", "idle", "other", "rr"], ..NONE })
    },
    Wrapper {
        operands: 1,
        ..wrapper("taskset", Shape { flags: "ac", long_flags: &["all-tasks", "cpu-list"], ..NONE })
    },
];

const ENV: Shape = Shape {
    flags: "i0v",
    valued: "uC",
    long_flags: &["ignore-environment", "null"],
    long_valued: &["unset", "chdir"],
    ..NONE
};
const SUDO: Shape = Shape {
    flags: "AbEHknNPS",
    valued: "CDghpRTu",
    long_flags: &["askpass", "background", "preserve-env", "set-home", "non-interactive", "stdin"],
    long_valued: &["chdir", "group", "host", "prompt", "user"],
    ..NONE
};
const DOAS: Shape = Shape { flags: "n", valued: "u", ..NONE };
const XARGS: Shape = Shape {
    flags: "0rtxp",
    valued: "adEILnPs",
    attached: "eil",
    long_flags: &["null", "no-run-if-empty", "verbose", "exit", "interactive", "replace", "max-lines", "eof"],
    long_valued: &["arg-file", "delimiter", "max-args", "max-procs", "max-chars"],
};

/// What a command runs.
pub(super) fn runs(base: &str, raw: &Raw) -> Runs {
    match base {
        "env" => with_variables(raw, ENV),
        // Who becomes somebody else does more than the command inside.
        "sudo" => Runs { listed: true, ..with_variables(raw, SUDO) },
        "doas" => Runs { listed: true, ..with_variables(raw, DOAS) },
        "xargs" => xargs(raw),
        "command" => command(raw),
        "find" | "gfind" => find::runs(raw),
        "parallel" => Runs::unclear("it makes commands of its input"),
        _ if shells::is_shell(base) => shells::runs(base, raw),
        _ => WRAPPERS
            .iter()
            .find(|wrapper| wrapper.name == base)
            .map_or_else(Runs::itself, |wrapper| prefixed(raw, wrapper.shape, wrapper.operands)),
    }
}

/// Reads the command after options and operands.
fn prefixed(raw: &Raw, shape: Shape, operands: usize) -> Runs {
    let args = raw.args();
    let Some(at) = shape.operands(args) else { return Runs::unclear(OPTION) };
    let before = args.get(at..at + operands).unwrap_or_default();
    if before.iter().any(|operand| operand.text().is_none_or(|text| text.starts_with('-'))) {
        return Runs::unclear(OPTION);
    }
    match args.get(at + operands..) {
        None | Some([]) => Runs::itself(),
        Some(words) => Runs { commands: vec![raw.inner(words)], ..Runs::default() },
    }
}

/// `command -v` only looks; otherwise it runs.
fn command(raw: &Raw) -> Runs {
    let looks = raw.args().first().and_then(Spelled::text).is_some_and(|text| text == "-v" || text == "-V");
    if looks { Runs::itself() } else { prefixed(raw, Shape { flags: "p", ..NONE }, 0) }
}

/// Reads `NAME=value` operands, which are variables of the command after them.
fn with_variables(raw: &Raw, shape: Shape) -> Runs {
    let args = raw.args();
    let Some(mut at) = shape.operands(args) else { return Runs::unclear(OPTION) };
    if args.get(at).and_then(Spelled::text) == Some("-") {
        at += 1;
    }
    let mut inner = raw.inner(&[]);
    while let Some(arg) = args.get(at).filter(|arg| arg.prefix.contains('=')) {
        let Some(set) = variable(arg) else { return Runs::unclear("it sets a variable with a strange name") };
        inner.sets.push(set);
        at += 1;
    }
    let words = args.get(at..).unwrap_or_default();
    if words.is_empty() {
        return Runs::itself();
    }
    inner.words = words.to_vec();
    let has = |letters: &str, longs: &[&str]| {
        let options = args.iter().take(at).filter_map(Spelled::text);
        options.into_iter().any(|text| has_letter(text, letters) || is_long(text, longs))
    };
    let mut tricks = Vec::new();
    tricks.extend(has("CD", &["chdir"]).then_some("it runs in another folder"));
    let bare = args.iter().take(at).any(|arg| arg.text() == Some("-"));
    // Commands get variables that keep programs from running others.
    let takes_away = raw.name().is_some_and(|name| name.ends_with("env"));
    let takes_away = takes_away && (bare || has("iu", &["ignore-environment", "unset"]));
    tricks.extend(takes_away.then_some("it takes variables away from the command"));
    Runs { commands: vec![inner], listed: !tricks.is_empty(), tricks, ..Runs::default() }
}

fn variable(arg: &Spelled) -> Option<(String, Word)> {
    let (name, value) = arg.prefix.split_once('=')?;
    let word = if arg.text().is_some() { Word::Known(value.to_owned()) } else { arg.word.clone() };
    (variables::is_name(name) && !arg.splits).then(|| (name.to_owned(), word))
}

/// The command gets more arguments from the input, or they replace a mark in its own.
fn xargs(raw: &Raw) -> Runs {
    let args = raw.args();
    let Some(at) = XARGS.operands(args) else { return Runs::unclear(OPTION) };
    let (options, words) = args.split_at(at.min(args.len()));
    let mut inner = raw.inner(words);
    if words.is_empty() {
        inner.words.push(Spelled::known("echo"));
    }
    inner.open_ended = true;
    let marks = marks(options);
    for word in &mut inner.words {
        if marks.iter().any(|mark| word.shown().contains(mark.as_str())) {
            *word = Spelled { splits: true, ..Spelled::unknown(word.shown(), "") };
        }
    }
    Runs { commands: vec![inner], ..Runs::default() }
}

/// What the input may replace in the command.
fn marks(options: &[Spelled]) -> Vec<String> {
    let replaces = |text: &str| text.starts_with("--replace") || text.starts_with('-') && text.contains(['I', 'i']);
    let mut marks = Vec::new();
    for (at, option) in options.iter().enumerate() {
        if let Some(option) = option.text().filter(|text| replaces(text)) {
            marks.push("{}".to_owned());
            let attached = option.split_once(['I', 'i', '=']).map(|(_, mark)| mark).filter(|mark| !mark.is_empty());
            marks.extend(attached.or_else(|| options.get(at + 1).and_then(Spelled::text)).map(str::to_owned));
        }
    }
    marks
}
