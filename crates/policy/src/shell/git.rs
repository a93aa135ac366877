//! git: options and commands that start other programs.

use super::options::{before_operands, has_letter, is_long};
use super::raw::Spelled;

/// Options of every command that name a program, a file to write, or settings.
#[rustfmt::skip]
const LONGS: [&str; 21] = [
    "ext-diff", "textconv", "output", "output-directory", "upload-pack", "receive-pack", "exec",
    "open-files-in-pager", "template", "config", "filters", "separate-git-dir", "strategy", "edit-description",
    "extcmd", "interactive", "edit", "help", "config-env", "exec-path", "git-dir",
];

/// Commands that only run what git itself brings. The name of any other may be an alias, or a program of its own.
#[rustfmt::skip]
const COMMANDS: [&str; 83] = [
    "add", "apply", "archive", "bisect", "blame", "branch", "bundle", "cat-file", "check-attr", "check-ignore",
    "check-mailmap", "check-ref-format", "checkout", "cherry", "cherry-pick", "clean", "clone", "commit",
    "commit-graph", "commit-tree", "config", "count-objects", "describe", "diff", "diff-files", "diff-index",
    "diff-tree", "fetch", "for-each-ref", "format-patch", "fsck", "gc", "grep", "hash-object", "index-pack", "init",
    "log", "ls-files", "ls-remote", "ls-tree", "merge", "merge-base", "merge-file", "merge-tree", "mktag", "mktree",
    "mv", "name-rev", "notes", "pack-objects", "pack-refs", "patch-id", "prune", "pull", "push", "range-diff",
    "read-tree", "rebase", "reflog", "remote", "repack", "replace", "rerere", "reset", "restore", "rev-list",
    "rev-parse", "revert", "rm", "shortlog", "show", "show-branch", "show-ref", "sparse-checkout", "stash",
    "status", "submodule", "switch", "symbolic-ref", "tag", "update-index", "version", "worktree",
];

/// Letters of single commands that name a program, a file, settings, or open an editor.
#[rustfmt::skip]
const LETTERS: [(&str, &str); 15] = [
    ("add", "ei"), ("archive", "o"), ("checkout", "p"), ("cherry-pick", "e"), ("clone", "uc"), ("commit", "e"),
    ("fetch", "u"), ("format-patch", "o"), ("grep", "O"), ("index-pack", "o"), ("merge", "se"), ("pull", "s"), ("rebase", "xis"),
    ("revert", "e"), ("submodule", "c"),
];

/// What `git bisect` does without another program; `visualize` runs what it is given.
#[rustfmt::skip]
const BISECT: [&str; 11] = [
    "bad", "good", "log", "new", "next", "old", "replay", "reset", "skip", "start", "terms",
];

/// Why a git may start other programs.
pub(super) fn tricks(args: &[Spelled]) -> Option<String> {
    let at = match command_at(args) {
        Ok(Some(at)) => at,
        Ok(None) => return None,
        Err(why) => return Some(why.to_owned()),
    };
    let (command, args) = (args.get(at)?.text(), args.get(at + 1..)?);
    let Some(command) = command.filter(|command| COMMANDS.contains(command)) else {
        return Some("its command may be an alias, or a program of its own".to_owned());
    };
    let why = by_options(command, args).or_else(|| by_command(command, args)).or_else(|| by_address(command, args));
    why.map(str::to_owned)
}

/// Where the command stands, behind the options of git itself.
fn command_at(args: &[Spelled]) -> Result<Option<usize>, &'static str> {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        match arg.text() {
            None => return Err("its command is only known when it runs"),
            // A pattern may find several names, of which the second would be the command.
            Some("-C") if args.get(at + 1).is_some_and(|folder| !folder.is_one_word()) => {
                return Err("its command is only known when it runs");
            }
            Some("-C") => at += 2,
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

fn by_options(command: &str, args: &[Spelled]) -> Option<&'static str> {
    let letters = LETTERS.iter().find(|(name, _)| *name == command).map_or("", |(_, letters)| letters);
    let risky = |text: &str| is_long(text, &LONGS) || has_letter(text, letters);
    let found = before_operands(args).iter().filter_map(Spelled::text).any(risky);
    found.then_some("one of its options names a program, a file to write, or settings")
}

fn by_command(command: &str, args: &[Spelled]) -> Option<&'static str> {
    const EDITOR: &str = "it may open an editor";
    let any = |fits: &dyn Fn(&str) -> bool| args.iter().filter_map(Spelled::text).any(fits);
    // What is not known may be anything, so it is none of the known words.
    let first = args.iter().find(|arg| arg.is_operand()).map(|arg| arg.text().unwrap_or_default());
    match command {
        "config" => (!looks_up(args)).then_some("it changes settings, which may name programs"),
        "bisect" => (!first.is_none_or(|first| BISECT.contains(&first))).then_some("it runs a command"),
        "bundle" => (first == Some("create")).then_some("it writes to a file"),
        "submodule" => (first != Some("status")).then_some("it may run a command in every submodule"),
        "commit" => (!says_message(args)).then_some(EDITOR),
        "tag" => {
            let annotates = |text: &str| has_letter(text, "asu") || is_long(text, &["annotate", "sign", "local-user"]);
            (any(&annotates) && !says_message(args)).then_some(EDITOR)
        }
        "notes" => (!matches!(first, None | Some("list" | "show"))).then_some(EDITOR),
        "archive" => any(&|text| is_long(text, &["remote"])).then_some("it reaches another machine"),
        "rebase" | "merge" | "revert" | "cherry-pick" => any(&|text| text == "--continue").then_some(EDITOR),
        "remote" => (!matches!(first, None | Some("show" | "get-url"))).then_some("it changes settings"),
        _ => None,
    }
}

/// Whether settings are only looked up. The option that says so comes first: later it may be the value of another.
fn looks_up(args: &[Spelled]) -> bool {
    #[rustfmt::skip]
    const SCOPES: [&str; 9] = [
        "--global", "--local", "--system", "--worktree", "--show-origin", "--show-scope", "--null", "-z", "--name-only",
    ];
    let says = args.iter().map(Spelled::text).find(|text| !text.is_some_and(|text| SCOPES.contains(&text))).flatten();
    matches!(says, Some("--get" | "--get-all" | "--get-regexp" | "--list" | "-l" | "get" | "list"))
}

/// Whether a commit or a tag has its text already.
fn says_message(args: &[Spelled]) -> bool {
    before_operands(args).iter().any(|arg| {
        let text = arg.text().unwrap_or(&arg.prefix);
        has_letter(text, "mFC")
            || ["--message", "--file", "--no-edit", "--fixup", "--reuse-message"]
                .iter()
                .any(|long| text.strip_prefix(long).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
    })
}

/// `ext::` and its like name a program that speaks for the other repository.
fn by_address(command: &str, args: &[Spelled]) -> Option<&'static str> {
    if !["archive", "bundle", "clone", "fetch", "ls-remote", "pull", "push", "remote"].contains(&command) {
        return None;
    }
    let helper = |text: &str| text.contains("::");
    let open = |prefix: &str| !prefix.is_empty() && prefix.bytes().all(|b| b.is_ascii_alphanumeric());
    let found = args.iter().any(|arg| match arg.text() {
        Some(text) => helper(text),
        None => helper(&arg.prefix) || open(&arg.prefix),
    });
    found.then_some("an address may name a program")
}
