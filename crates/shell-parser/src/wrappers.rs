//! Programs that run the command in their own arguments.

use super::options::{NO_OPTIONS, OptionSyntax, has_letter, is_long_option};
use super::raw_command::{RawCommand, RawWord};
use super::resolve::InnerCommands;
use super::{ShellWord, find, shells, variables};

const UNKNOWN_OPTION: &str = "one of its options is unknown, and so is the command it runs";

/// A program that runs the command after its options.
struct Wrapper {
    name: &'static str,
    options: OptionSyntax,
    /// How many operands precede the command.
    operands: usize,
}

const fn wrapper(name: &'static str, shape: OptionSyntax) -> Wrapper {
    Wrapper { name, options: shape, operands: 0 }
}

const WRAPPERS: [Wrapper; 13] = [
    wrapper("nohup", NO_OPTIONS),
    wrapper("busybox", NO_OPTIONS),
    wrapper("toybox", NO_OPTIONS),
    wrapper("builtin", NO_OPTIONS),
    wrapper("exec", NO_OPTIONS),
    wrapper("nice", OptionSyntax { valued: "n", flags: "0123456789", long_valued: &["adjustment"], ..NO_OPTIONS }),
    wrapper(
        "ionice",
        OptionSyntax {
            flags: "t",
            valued: "cn",
            long_flags: &["ignore"],
            long_valued: &["class", "classdata"],
            ..NO_OPTIONS
        },
    ),
    wrapper(
        "time",
        OptionSyntax {
            flags: "pv",
            valued: "f",
            long_flags: &["portability", "verbose"],
            long_valued: &["format"],
            ..NO_OPTIONS
        },
    ),
    wrapper("stdbuf", OptionSyntax { valued: "ioe", long_valued: &["input", "output", "error"], ..NO_OPTIONS }),
    wrapper("setsid", OptionSyntax { flags: "cfw", long_flags: &["ctty", "fork", "wait"], ..NO_OPTIONS }),
    Wrapper {
        operands: 1,
        ..wrapper(
            "timeout",
            OptionSyntax {
                flags: "fpv",
                valued: "ks",
                long_flags: &["foreground", "preserve-status", "verbose"],
                long_valued: &["kill-after", "signal"],
                ..NO_OPTIONS
            },
        )
    },
    Wrapper {
        operands: 1,
        ..wrapper(
            "chrt",
            OptionSyntax { flags: "bfiorR", long_flags: &["batch", "fifo", "idle", "other", "rr"], ..NO_OPTIONS },
        )
    },
    Wrapper {
        operands: 1,
        ..wrapper("taskset", OptionSyntax { flags: "ac", long_flags: &["all-tasks", "cpu-list"], ..NO_OPTIONS })
    },
];

const ENV: OptionSyntax = OptionSyntax {
    flags: "i0v",
    valued: "uC",
    long_flags: &["ignore-environment", "null"],
    long_valued: &["unset", "chdir"],
    ..NO_OPTIONS
};
const SUDO: OptionSyntax = OptionSyntax {
    flags: "AbEHknNPS",
    valued: "CDghpRTu",
    long_flags: &["askpass", "background", "preserve-env", "set-home", "non-interactive", "stdin"],
    long_valued: &["chdir", "group", "host", "prompt", "user"],
    ..NO_OPTIONS
};
const DOAS: OptionSyntax = OptionSyntax { flags: "n", valued: "u", ..NO_OPTIONS };
const XARGS: OptionSyntax = OptionSyntax {
    flags: "0rtxp",
    valued: "adEILnPs",
    attached: "eil",
    long_flags: &["null", "no-run-if-empty", "verbose", "exit", "interactive", "replace", "max-lines", "eof"],
    long_valued: &["arg-file", "delimiter", "max-args", "max-procs", "max-chars"],
};

/// What a command runs.
pub(super) fn inner_commands(base: &str, raw: &RawCommand) -> InnerCommands {
    match base {
        "env" => with_variables(raw, ENV),
        // Changing the user does more than the inner command alone.
        "sudo" => InnerCommands { lists_itself: true, ..with_variables(raw, SUDO) },
        "doas" => InnerCommands { lists_itself: true, ..with_variables(raw, DOAS) },
        "xargs" => xargs(raw),
        "command" => command_builtin(raw),
        "find" | "gfind" => find::inner_commands(raw),
        "parallel" => InnerCommands::unclear("it builds commands from its input"),
        _ if shells::is_shell(base) => shells::inner_commands(base, raw),
        _ => WRAPPERS.iter().find(|wrapper| wrapper.name == base).map_or_else(InnerCommands::itself, |wrapper| {
            command_after_options(raw, wrapper.options, wrapper.operands)
        }),
    }
}

/// Reads the command after options and operands.
fn command_after_options(raw: &RawCommand, syntax: OptionSyntax, operands: usize) -> InnerCommands {
    let args = raw.args();
    let Some(at) = syntax.operands_start(args) else { return InnerCommands::unclear(UNKNOWN_OPTION) };
    let before = args.get(at..at + operands).unwrap_or_default();
    if before.iter().any(|operand| operand.text().is_none_or(|text| text.starts_with('-'))) {
        return InnerCommands::unclear(UNKNOWN_OPTION);
    }
    match args.get(at + operands..) {
        None | Some([]) => InnerCommands::itself(),
        Some(words) => InnerCommands { commands: vec![raw.inner_command(words)], ..InnerCommands::default() },
    }
}

/// `command -v` only looks up; otherwise it runs the command.
fn command_builtin(raw: &RawCommand) -> InnerCommands {
    let only_looks_up = raw.args().first().and_then(RawWord::text).is_some_and(|text| text == "-v" || text == "-V");
    if only_looks_up {
        InnerCommands::itself()
    } else {
        command_after_options(raw, OptionSyntax { flags: "p", ..NO_OPTIONS }, 0)
    }
}

/// Reads `NAME=value` operands, which set variables of the command after them.
fn with_variables(raw: &RawCommand, syntax: OptionSyntax) -> InnerCommands {
    let args = raw.args();
    let Some(mut at) = syntax.operands_start(args) else { return InnerCommands::unclear(UNKNOWN_OPTION) };
    if args.get(at).and_then(RawWord::text) == Some("-") {
        at += 1;
    }
    let mut inner = raw.inner_command(&[]);
    while let Some(arg) = args.get(at).filter(|arg| arg.prefix.contains('=')) {
        let Some(set) = variable(arg) else { return InnerCommands::unclear("it sets a variable with a strange name") };
        inner.assignments.push(set);
        at += 1;
    }
    let words = args.get(at..).unwrap_or_default();
    if words.is_empty() {
        return InnerCommands::itself();
    }
    inner.words = words.to_vec();
    let has = |letters: &str, longs: &[&str]| {
        let options = args.iter().take(at).filter_map(RawWord::text);
        options.into_iter().any(|text| has_letter(text, letters) || is_long_option(text, longs))
    };
    let mut risks = Vec::new();
    risks.extend(has("CD", &["chdir"]).then_some("it runs in another folder"));
    let clears_all = args.iter().take(at).any(|arg| arg.text() == Some("-"));
    // Bosun sets variables that keep programs from starting other programs.
    let removes = raw.name().is_some_and(|name| name.ends_with("env"));
    let removes = removes && (clears_all || has("iu", &["ignore-environment", "unset"]));
    risks.extend(removes.then_some("it removes variables from the command's environment"));
    InnerCommands { commands: vec![inner], lists_itself: !risks.is_empty(), risks, ..InnerCommands::default() }
}

fn variable(arg: &RawWord) -> Option<(String, ShellWord)> {
    let (name, value) = arg.prefix.split_once('=')?;
    let word = if arg.text().is_some() { ShellWord::Known(value.to_owned()) } else { arg.word.clone() };
    (variables::is_name(name) && !arg.splits).then(|| (name.to_owned(), word))
}

/// What xargs runs: a command that gets arguments from the input, at its end or in place of a mark.
fn xargs(raw: &RawCommand) -> InnerCommands {
    let args = raw.args();
    let Some(at) = XARGS.operands_start(args) else { return InnerCommands::unclear(UNKNOWN_OPTION) };
    let (options, words) = args.split_at(at.min(args.len()));
    let mut inner = raw.inner_command(words);
    if words.is_empty() {
        inner.words.push(RawWord::known("echo"));
    }
    inner.open_ended = true;
    let marks = replacement_marks(options);
    for word in &mut inner.words {
        if marks.iter().any(|mark| word.display().contains(mark.as_str())) {
            *word = RawWord { splits: true, ..RawWord::unknown(word.display(), "") };
        }
    }
    InnerCommands { commands: vec![inner], ..InnerCommands::default() }
}

/// The marks that the input replaces in the command.
fn replacement_marks(options: &[RawWord]) -> Vec<String> {
    let replaces = |text: &str| text.starts_with("--replace") || text.starts_with('-') && text.contains(['I', 'i']);
    let mut marks = Vec::new();
    for (at, option) in options.iter().enumerate() {
        if let Some(option) = option.text().filter(|text| replaces(text)) {
            marks.push("{}".to_owned());
            let attached = option.split_once(['I', 'i', '=']).map(|(_, mark)| mark).filter(|mark| !mark.is_empty());
            marks.extend(attached.or_else(|| options.get(at + 1).and_then(RawWord::text)).map(str::to_owned));
        }
    }
    marks
}
