//! git: commands and options that start other programs, read or write files at a path of the caller's choice, or reach
//! git's own folder. What is not known to be harmless is not.

mod paths;
mod table;

use super::raw_command::RawWord;
use paths::{NAMED_FOLDER, is_elsewhere, names_git_folder, touches};
use table::{COMMANDS, GitCommand};

const OPTION: &str = "one of its options may name a program, a file or settings";
const EDITOR: &str = "it may open an editor";

/// What `git bisect` does without another program; `visualize` runs what it is given, `replay` what a file says.
const BISECT: [&str; 10] = ["bad", "good", "log", "new", "next", "old", "reset", "skip", "start", "terms"];

/// Why a git may start other programs, or touch more than its name says.
pub(super) fn risks(args: &[RawWord]) -> Option<String> {
    let at = match command_at(args) {
        Ok(Some(at)) => at,
        Ok(None) => return None,
        Err(why) => return Some(why.to_owned()),
    };
    let (command, args) = (args.get(at)?.text(), args.get(at + 1..)?);
    let Some(command) = command.and_then(|name| COMMANDS.iter().find(|known| known.name == name)) else {
        return Some("its command may be an alias, or a program of its own".to_owned());
    };
    let given = match GitArguments::read(command, args) {
        Ok(given) => given,
        Err(why) => return Some(why.to_owned()),
    };
    let why = by_words(args).or_else(|| by_command(command.name, &given)).or_else(|| touches(command.name, &given));
    why.map(str::to_owned)
}

/// Where the command stands, behind the options of git itself.
fn command_at(args: &[RawWord]) -> Result<Option<usize>, &'static str> {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        match arg.text() {
            None => return Err("its command is only known when it runs"),
            Some("-C") => {
                let folder = args.get(at + 1);
                // A pattern may find several names, of which the second would be the command.
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

/// The arguments of a command, its options being known ones.
#[derive(Debug, Default)]
pub(super) struct GitArguments<'a> {
    /// Every option, long ones without their value.
    options: Vec<&'a str>,
    operands: Vec<&'a RawWord>,
    /// How many operands stand before a `--`; those behind are paths for sure.
    before_dashes: Option<usize>,
}

impl<'a> GitArguments<'a> {
    fn read(command: &GitCommand, args: &'a [RawWord]) -> Result<GitArguments<'a>, &'static str> {
        let mut given = GitArguments::default();
        let mut rest = args.iter();
        let mut after_option = false;
        while let Some(arg) = rest.next() {
            let text = arg.text().unwrap_or_default();
            if text == "--" {
                given.before_dashes.get_or_insert(given.operands.len());
                // Right after an option it may be the value of that, and options may follow.
                if !after_option {
                    given.operands.extend(rest.by_ref());
                    break;
                }
                continue;
            }
            after_option = false;
            if let Some(long) = text.strip_prefix("--") {
                let name = long.split('=').next().unwrap_or(long);
                if name.is_empty() || !command.has_long(name) {
                    return Err(OPTION);
                }
                // A list of commits and an amended message are edited.
                if long.starts_with("rebase=i") || name == "fixup" && long.contains(':') {
                    return Err(EDITOR);
                }
                given.options.push(name);
                after_option = !long.contains('=');
            } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                given.options.push(text);
                after_option = !command.takes_next(letters).ok_or(OPTION)?;
                if !after_option && rest.next().is_some_and(|value| !value.is_one_word()) {
                    return Err("an argument is only known when it runs");
                }
            } else {
                given.operands.push(arg);
            }
        }
        Ok(given)
    }

    /// Whether one of these options is given, by its letter or its name.
    fn has(&self, letters: &str, longs: &[&str]) -> bool {
        self.options.iter().any(|option| match option.strip_prefix('-') {
            Some(cluster) => cluster.contains(|c| letters.contains(c)),
            None => longs.contains(option),
        })
    }

    /// The first operand; what is not known may be anything, so it is none of the known words.
    fn first(&self) -> Option<&'a str> {
        self.operands.first().map(|operand| operand.text().unwrap_or_default())
    }
}

impl GitCommand {
    fn has_long(&self, name: &str) -> bool {
        let lists = |name: &str| self.longs.iter().any(|longs| longs.contains(&name));
        lists(name) || name.strip_prefix("no-").is_some_and(lists)
    }

    /// Whether a cluster of letters takes the next argument; nothing where one of its letters is not known.
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

/// Words that mean something to every command.
fn by_words(args: &[RawWord]) -> Option<&'static str> {
    let known = || args.iter().filter_map(RawWord::text);
    if known().any(names_git_folder) {
        return Some(NAMED_FOLDER);
    }
    known().any(|text| text.contains("%G")).then_some("it lets another program look at signatures")
}

fn by_command(command: &str, given: &GitArguments<'_>) -> Option<&'static str> {
    const BUILDS: &str = "it changes files to what somebody else wrote";
    let first = given.first();
    match command {
        "am" => (!given.has("", &["abort", "quit", "skip"])).then_some(BUILDS),
        "apply" => (!given.has("", &["check", "stat", "numstat", "summary"])).then_some(BUILDS),
        "config" => (!looks_up(given)).then_some("it changes settings, which may name programs"),
        "bisect" => (!first.is_none_or(|first| BISECT.contains(&first))).then_some("it runs a command"),
        "bundle" => (!matches!(first, Some("verify" | "list-heads"))).then_some("it writes to a file"),
        "submodule" => (first != Some("status")).then_some("it may run a command in every submodule"),
        "commit" => (!says_message(given)).then_some(EDITOR),
        "tag" => (given.has("a", &["annotate"]) && !says_message(given)).then_some(EDITOR),
        "notes" => (!matches!(first, None | Some("list" | "show"))).then_some(EDITOR),
        "remote" => (!matches!(first, None | Some("show" | "get-url"))).then_some("it changes settings"),
        "worktree" => (first != Some("list")).then_some("it makes or removes a folder of its own"),
        "sparse-checkout" => (first != Some("list")).then_some("it removes files and brings them back"),
        "format-patch" => (!given.has("", &["stdout"])).then_some("it writes to files"),
        "reflog" => matches!(first, Some("expire" | "delete" | "drop")).then_some("it forgets commits"),
        "stash" => (matches!(first, Some("store" | "export" | "import")) || first == Some(""))
            .then_some("it takes commits for stashed changes"),
        _ => None,
    }
}

/// Whether settings are only looked up. The option that says so comes first: later it may be the value of another.
fn looks_up(given: &GitArguments<'_>) -> bool {
    let scopes =
        ["global", "local", "system", "worktree", "show-origin", "show-scope", "null", "-z", "name-only", "includes"];
    let says = given.options.iter().find(|option| !scopes.contains(option));
    let by_option = matches!(says, Some(&("get" | "get-all" | "get-regexp" | "list" | "-l")));
    by_option || says.is_none() && matches!(given.first(), Some("get" | "list"))
}

/// Whether a commit or a tag has its text already.
fn says_message(given: &GitArguments<'_>) -> bool {
    given.has("mFC", &["message", "file", "no-edit", "fixup", "reuse-message"])
}
