//! Paths and addresses in the arguments of git commands. Those allowed without asking are in the project, and are not
//! repositories.

use super::super::raw_command::RawWord;
use super::GitArguments;

pub(super) const NAMES_GIT_FOLDER: &str = "it names git's own folder, from which git runs programs";
const MAY_CHANGE_FILES: &str = "it may change files that control programs";
const UNSAFE_ADDRESS: &str = "its address may be a folder or a program";

/// Why the operands of a command may reach more than the project's files.
pub(super) fn risk_of_operands(command: &str, parsed: &GitArguments<'_>) -> Option<&'static str> {
    let operands = parsed.operands.as_slice();
    let plain = |operands: &[&RawWord]| operands.iter().all(|operand| is_plain_path(operand));
    match command {
        "mv" => (!plain(operands)).then_some(MAY_CHANGE_FILES),
        "rm" => (!parsed.has_option("n", &["cached", "dry-run"]) && !plain(operands)).then_some(MAY_CHANGE_FILES),
        "clean" => {
            let dry = parsed.has_option("n", &["dry-run"]);
            (!dry && (operands.is_empty() || !plain(operands))).then_some(MAY_CHANGE_FILES)
        }
        "restore" => {
            let only_staged = parsed.has_option("S", &["staged"]) && !parsed.has_option("W", &["worktree"]);
            (!only_staged && !plain(operands)).then_some(MAY_CHANGE_FILES)
        }
        "checkout" => checkout_risk(parsed, plain),
        "stash" => parsed.has_option("ua", &["include-untracked", "all", "only-untracked"]).then_some(MAY_CHANGE_FILES),
        "init" => (!plain(operands)).then_some("it creates a repository elsewhere"),
        "clone" => clone_risk(operands),
        "fetch" | "pull" | "push" | "ls-remote" => match operands.first() {
            // Several remotes may follow.
            Some(_) if command == "fetch" && parsed.has_option("", &["multiple"]) => {
                (!operands.iter().all(|operand| is_remote(operand))).then_some(UNSAFE_ADDRESS)
            }
            Some(address) => (!is_remote(address)).then_some(UNSAFE_ADDRESS),
            None => None,
        },
        _ => None,
    }
}

/// With paths, checkout takes files from any commit; without, it switches to a commit.
fn checkout_risk(parsed: &GitArguments<'_>, plain: impl Fn(&[&RawWord]) -> bool) -> Option<&'static str> {
    let commit = |operand: &RawWord| operand.text().is_some_and(|text| !text.contains(':') && !has_only_dots(text));
    let operands = parsed.operands.as_slice();
    // Of several operands without a `--`, the first may be a commit.
    let (commits, paths) = operands.split_at_checked(parsed.before_dashes.unwrap_or(operands.len().min(1)))?;
    let makes_branch = parsed.has_option("bB", &["orphan"]);
    let fine = commits.iter().all(|operand| commit(operand)) && (makes_branch || plain(paths));
    (!fine).then_some(MAY_CHANGE_FILES)
}

fn has_only_dots(text: &str) -> bool {
    text.split('/').all(|part| matches!(part, "" | "." | ".."))
}

fn clone_risk(operands: &[&RawWord]) -> Option<&'static str> {
    let (address, folder) = match operands {
        [address] => (address, None),
        [address, folder] => (address, Some(folder)),
        _ => return Some(UNSAFE_ADDRESS),
    };
    if !address.text().is_some_and(is_url) {
        return Some(UNSAFE_ADDRESS);
    }
    let name = address.text().and_then(|text| text.trim_end_matches('/').rsplit(['/', ':']).next());
    let fine = match folder {
        Some(folder) => is_plain_path(folder),
        None => name.is_some_and(|name| !name.is_empty() && !name.starts_with('.')),
    };
    (!fine).then_some("it creates a repository elsewhere")
}

/// Whether a path is below the current folder, and no part of it is hidden: files that control programs usually are.
/// Text with a special meaning for git is not a plain path.
fn is_plain_path(operand: &RawWord) -> bool {
    let Some(text) = operand.text() else { return false };
    let text = text.strip_prefix("./").unwrap_or(text);
    let parts = text.trim_end_matches('/').split('/');
    !text.is_empty()
        && !text.starts_with('/')
        && !text.contains(['*', '?', '[', '\\', ':', '~'])
        && parts.into_iter().all(|part| !part.is_empty() && !part.starts_with('.'))
}

/// Whether a folder is not below the current one.
pub(super) fn is_elsewhere(folder: &str) -> bool {
    folder.starts_with('/') || folder.split('/').any(|part| part == "..")
}

/// Whether a word contains git's own folder, in any spelling that a file system accepts.
pub(super) fn names_git_folder(text: &str) -> bool {
    text.split(['/', '=', ':', ',', '\\']).any(|part| {
        let part = part.trim_end_matches([' ', '.']).to_ascii_lowercase();
        matches!(part.as_str(), ".git" | "git~1")
    })
}

/// Whether a word is the name of a remote, or the address of another machine.
fn is_remote(address: &RawWord) -> bool {
    let Some(text) = address.text() else { return false };
    let name = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let is_name = !text.is_empty() && !text.starts_with('-') && text.chars().all(name);
    is_name || is_url(text)
}

/// Whether an address is of another machine and uses one of git's own transports.
fn is_url(text: &str) -> bool {
    if text.contains("::") {
        return false;
    }
    match text.split_once("://") {
        Some((scheme, rest)) => {
            let host = rest.split('/').next().unwrap_or_default();
            let host = host.rsplit('@').next().unwrap_or(host);
            ["https", "http", "ssh", "git"].contains(&scheme) && host.starts_with(|c: char| c.is_ascii_alphanumeric())
        }
        // user@host:path
        None => text.split_once(':').is_some_and(|(host, _)| {
            let plain = |c: char| c.is_ascii_alphanumeric() || ".-_@".contains(c);
            host.contains('@') && host.chars().all(plain) && host.starts_with(|c: char| c.is_ascii_alphanumeric())
        }),
    }
}
