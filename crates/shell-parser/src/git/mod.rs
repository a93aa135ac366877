//! git: commands and options that start other programs, read or write files at any path, or reach git's own folder.
//! What is not known to be harmless is treated as risky.

mod paths;
mod table;

use super::raw_command::RawWord;
use paths::{NAMES_GIT_FOLDER, is_elsewhere, names_git_folder, risk_of_operands};
use table::{COMMANDS, GitCommand};

const UNKNOWN_OPTION: &str = "one of its options may name a program, a file or settings";
const OPENS_EDITOR: &str = "it may open an editor";

/// Subcommands of `git bisect` that start no other program; `visualize` runs its arguments, `replay` a file.
const HARMLESS_BISECT: [&str; 10] = ["bad", "good", "log", "new", "next", "old", "reset", "skip", "start", "terms"];

/// Why a git command may start other programs, or touch more than its name says.
pub(super) fn risks(args: &[RawWord]) -> Option<String> {
    let at = match command_position(args) {
        Ok(Some(at)) => at,
        Ok(None) => return None,
        Err(why) => return Some(why.to_owned()),
    };
    let (command, args) = (args.get(at)?.text(), args.get(at + 1..)?);
    let Some(command) = command.and_then(|name| COMMANDS.iter().find(|known| known.name == name)) else {
        return Some("its command may be an alias or another program".to_owned());
    };
    let parsed = match GitArguments::parse(command, args) {
        Ok(parsed) => parsed,
        Err(why) => return Some(why.to_owned()),
    };
    let why = risk_of_words(args)
        .or_else(|| risk_of_command(command.name, &parsed))
        .or_else(|| risk_of_operands(command.name, &parsed));
    why.map(str::to_owned)
}

/// The position of the command, after the options of git itself.
fn command_position(args: &[RawWord]) -> Result<Option<usize>, &'static str> {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        match arg.text() {
            None => return Err("its command is only known when it runs"),
            Some("-C") => {
                let folder = args.get(at + 1);
                // A pattern may match several names, of which the second would be the command.
                if folder.is_some_and(|folder| !folder.is_one_word()) {
                    return Err("its command is only known when it runs");
                }
                if folder.and_then(RawWord::text).is_some_and(|folder| is_elsewhere(folder) || names_git_folder(folder))
                {
                    return Err("it works in another folder, whose settings may name programs");
                }
                at += 2;
            }
            Some("--no-pager" | "-P" | "--no-optional-locks" | "--literal-pathspecs" | "--no-replace-objects") => {
                at += 1
            }
            Some("--version" | "-v" | "--html-path" | "--man-path" | "--info-path" | "--exec-path") => return Ok(None),
            Some(text) if text.starts_with('-') => {
                return Err("one of its options names a program, settings or another repository");
            }
            Some(_) => return Ok(Some(at)),
        }
    }
    Ok(None)
}

/// The arguments of a command, whose options are all known.
#[derive(Debug, Default)]
pub(super) struct GitArguments<'a> {
    /// Every option, long ones without their value.
    options: Vec<&'a str>,
    operands: Vec<&'a RawWord>,
    /// How many operands precede a `--`; those after it are certainly paths.
    before_dashes: Option<usize>,
}

impl<'a> GitArguments<'a> {
    fn parse(command: &GitCommand, args: &'a [RawWord]) -> Result<GitArguments<'a>, &'static str> {
        let mut parsed = GitArguments::default();
        let mut rest = args.iter();
        let mut after_option = false;
        while let Some(arg) = rest.next() {
            let text = arg.text().unwrap_or_default();
            if text == "--" {
                parsed.before_dashes.get_or_insert(parsed.operands.len());
                // Right after an option it may be the option's value, and options may follow.
                if !after_option {
                    parsed.operands.extend(rest.by_ref());
                    break;
                }
                continue;
            }
            after_option = false;
            if let Some(long) = text.strip_prefix("--") {
                let name = long.split('=').next().unwrap_or(long);
                if name.is_empty() || !command.has_long(name) {
                    return Err(UNKNOWN_OPTION);
                }
                // These open an editor.
                if long.starts_with("rebase=i") || name == "fixup" && long.contains(':') {
                    return Err(OPENS_EDITOR);
                }
                parsed.options.push(name);
                after_option = !long.contains('=');
            } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                parsed.options.push(text);
                after_option = !command.takes_next(letters).ok_or(UNKNOWN_OPTION)?;
                if !after_option && rest.next().is_some_and(|value| !value.is_one_word()) {
                    return Err("an argument is only known when it runs");
                }
            } else {
                parsed.operands.push(arg);
            }
        }
        Ok(parsed)
    }

    /// Whether one of these options is given, by its letter or its name.
    fn has_option(&self, letters: &str, longs: &[&str]) -> bool {
        self.options.iter().any(|option| match option.strip_prefix('-') {
            Some(cluster) => cluster.contains(|c| letters.contains(c)),
            None => longs.contains(option),
        })
    }

    /// The first operand; an unknown one is returned as empty, so that it matches no known word.
    fn first_operand(&self) -> Option<&'a str> {
        self.operands.first().map(|operand| operand.text().unwrap_or_default())
    }
}

impl GitCommand {
    fn has_long(&self, name: &str) -> bool {
        let lists = |name: &str| self.longs.iter().any(|longs| longs.contains(&name));
        lists(name) || name.strip_prefix("no-").is_some_and(lists)
    }

    /// Whether a cluster of letters takes the next argument; `None` if a letter is unknown.
    fn takes_next(&self, letters: &str) -> Option<bool> {
        for (at, letter) in letters.char_indices() {
            if self.valued.contains(letter) {
                return Some(at + letter.len_utf8() == letters.len());
            }
            if self.attached.contains(letter) {
                return Some(false);
            }
            if !self.flags.contains(letter) {
                return None;
            }
        }
        Some(false)
    }
}

/// Risky words for any command.
fn risk_of_words(args: &[RawWord]) -> Option<&'static str> {
    let known = || args.iter().filter_map(RawWord::text);
    if known().any(names_git_folder) {
        return Some(NAMES_GIT_FOLDER);
    }
    known().any(|text| text.contains("%G")).then_some("it starts another program to check signatures")
}

fn risk_of_command(command: &str, parsed: &GitArguments<'_>) -> Option<&'static str> {
    const BUILDS: &str = "it changes files to content from elsewhere";
    let first = parsed.first_operand();
    match command {
        "am" => (!parsed.has_option("", &["abort", "quit", "skip"])).then_some(BUILDS),
        "apply" => (!parsed.has_option("", &["check", "stat", "numstat", "summary"])).then_some(BUILDS),
        "config" => (!only_reads_settings(parsed)).then_some("it changes settings, which may name programs"),
        "bisect" => (!first.is_none_or(|first| HARMLESS_BISECT.contains(&first))).then_some("it runs a command"),
        "bundle" => (!matches!(first, Some("verify" | "list-heads"))).then_some("it writes to a file"),
        "submodule" => (first != Some("status")).then_some("it may run a command in every submodule"),
        "commit" => (!has_message(parsed)).then_some(OPENS_EDITOR),
        "tag" => (parsed.has_option("a", &["annotate"]) && !has_message(parsed)).then_some(OPENS_EDITOR),
        "notes" => (!matches!(first, None | Some("list" | "show"))).then_some(OPENS_EDITOR),
        "remote" => (!matches!(first, None | Some("show" | "get-url"))).then_some("it changes settings"),
        "worktree" => (first != Some("list")).then_some("it creates or removes a worktree"),
        "sparse-checkout" => (first != Some("list")).then_some("it removes and restores files"),
        "format-patch" => (!parsed.has_option("", &["stdout"])).then_some("it writes to files"),
        "reflog" => matches!(first, Some("expire" | "delete" | "drop")).then_some("it deletes entries of the reflog"),
        "stash" => (matches!(first, Some("store" | "export" | "import")) || first == Some(""))
            .then_some("it treats commits as stashed changes"),
        _ => None,
    }
}

/// Whether settings are only read. The option for that must come first: later it may be the value of another.
fn only_reads_settings(parsed: &GitArguments<'_>) -> bool {
    let scopes =
        ["global", "local", "system", "worktree", "show-origin", "show-scope", "null", "-z", "name-only", "includes"];
    let first_option = parsed.options.iter().find(|option| !scopes.contains(option));
    let by_option = matches!(first_option, Some(&("get" | "get-all" | "get-regexp" | "list" | "-l")));
    by_option || first_option.is_none() && matches!(parsed.first_operand(), Some("get" | "list"))
}

/// Whether a commit or tag has its message in the arguments.
fn has_message(parsed: &GitArguments<'_>) -> bool {
    parsed.has_option("mFC", &["message", "file", "no-edit", "fixup", "reuse-message"])
}
