//! Programs that run text in their own language.

use shell_parser::{ShellWord, SimpleCommand};

/// Their names, without a version.
#[rustfmt::skip]
const INTERPRETERS: [&str; 34] = [
    "Rscript", "R", "bash", "bun", "dash", "deno", "elixir", "erl", "fish", "ghc", "groovy", "guile", "iex", "irb",
    "julia", "ksh", "lua", "luajit", "node", "nodejs", "octave", "osascript", "perl", "php", "pwsh", "pypy", "python",
    "racket", "raku", "ruby", "sh", "tclsh", "ts-node", "zsh",
];

/// Whether this is an interpreter; `python3.12` is a python.
pub(crate) fn is_interpreter(name: &str) -> bool {
    let plain = name.rsplit('/').next().unwrap_or(name);
    INTERPRETERS.contains(&plain.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Whether an interpreter gets code in its arguments, which no pattern can judge. Arguments after a file or module
/// belong to that program.
pub(crate) fn runs_inline_code(simple: &SimpleCommand) -> bool {
    if !is_interpreter(&simple.name) {
        return false;
    }
    let known = |word: &ShellWord| match word {
        ShellWord::Known(text) => Some(text.clone()),
        ShellWord::Glob(_) | ShellWord::Unknown(_) => None,
    };
    let args: Vec<String> = simple.args.iter().map_while(known).collect();
    let mut options = args.iter().take_while(|word| word.starts_with('-') && *word != "-m");
    let evaluates = args.first().is_some_and(|first| matches!(first.as_str(), "eval" | "repl"));
    simple.args.is_empty() || evaluates || options.any(|option| is_code_option(option))
}

fn is_code_option(text: &str) -> bool {
    let short = !text.starts_with("--") && text.contains(['c', 'e', 'E', 'p', 'r']);
    short || ["--eval", "--print", "--command", "--execute", "--run"].iter().any(|long| text.starts_with(long))
}
