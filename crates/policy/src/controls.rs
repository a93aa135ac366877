//! Files that control Bosun itself, and how a call could reach them. No rule and no mode allows it.

use std::path::{Path, PathBuf};

use shell_parser::{CommandFolders, ShellWord, SimpleCommand};

use crate::Policy;
use crate::fold::{fold, fold_path, is_within, normalize_path};
use crate::pattern::WordPattern;

/// Arguments with which an agent may start `bosun`.
const HARMLESS_BOSUN_ARGS: [&str; 4] = ["--version", "-V", "--help", "-h"];

fn word_text(word: &ShellWord) -> &str {
    match word {
        ShellWord::Known(text) | ShellWord::Glob(text) | ShellWord::Unknown(text) => text,
    }
}

impl Policy {
    /// Whether the path is a control file or folder, or inside one.
    pub(crate) fn is_control(&self, path: &Path) -> bool {
        self.control_paths.iter().any(|control| is_within(path, control) && !self.is_exempt(path, control))
    }

    /// Whether a path, or the beginning of a pattern, is in a folder exempt from this control.
    fn is_exempt(&self, path: &Path, control: &Path) -> bool {
        self.exempt_folders
            .iter()
            .any(|exempt| path.starts_with(exempt) && exempt.starts_with(control) && exempt != control)
    }

    /// The folders that the commands of a line run in, as far as the words of the commands show.
    pub(crate) fn command_folders(&self, commands: &[SimpleCommand], start: &Path) -> CommandFolders {
        let change_folder = |from: &Path, target: &str| {
            vec![normalize_path(from, Path::new(&self.expand_home(&target.replace(['"', '\''], ""))))]
        };
        CommandFolders::follow(commands, start, change_folder)
    }

    /// Whether a command names a control, or starts Bosun for more than its version or help.
    pub(crate) fn reaches_controls(&self, simple: &SimpleCommand, folders: &[PathBuf]) -> bool {
        let harmless =
            |word: &ShellWord| matches!(word, ShellWord::Known(text) if HARMLESS_BOSUN_ARGS.contains(&text.as_str()));
        if program_name(&simple.name) == "bosun" && (simple.args.is_empty() || !simple.args.iter().all(harmless)) {
            return true;
        }
        let name = ShellWord::Known(simple.name.clone());
        let words = simple.args.iter().chain(simple.assignments.iter().map(|(_, value)| value)).chain([&name]);
        words.into_iter().any(|word| self.names_control(word, folders))
    }

    /// Whether a word names a control, as far as that can be known before it runs.
    pub(crate) fn names_control(&self, word: &ShellWord, folders: &[PathBuf]) -> bool {
        if self.control_paths.is_empty() {
            return false;
        }
        let text = word_text(word);
        if text.contains('/') {
            let folded = fold(text);
            let remaining = self.without_exempt(&folded);
            if self.control_paths.iter().any(|control| contains_path(&remaining, &fold_path(control))) {
                return true;
            }
        }
        let text = text.replace(['"', '\''], "");
        let option_value = text.starts_with('-').then(|| text.get(2..)).flatten();
        // Options and settings have their file after a separator.
        text.split(['=', ':', ',', '@']).chain(option_value).filter(|piece| !piece.is_empty()).any(|piece| {
            let piece = self.expand_home(piece);
            let paths = folders.iter().map(|folder| normalize_path(folder, Path::new(&piece)));
            let may_reach = |path: &Path| match word {
                ShellWord::Known(_) => self.is_control(path),
                ShellWord::Glob(_) | ShellWord::Unknown(_) => self.is_control(path) || self.could_be_control(path),
            };
            paths.into_iter().any(|path| may_reach(&path))
        })
    }

    /// Removes exempt paths from a folded text, unless it leads back up from there.
    fn without_exempt(&self, folded: &str) -> String {
        let names = self.exempt_folders.iter().map(|exempt| fold_path(exempt)).filter(|_| !folded.contains(".."));
        names.fold(folded.to_owned(), |text, name| remove_path(&text, &name))
    }

    /// Expands the user's home folder at the beginning of a piece. `~name` is treated as `~`, without a look-up.
    fn expand_home(&self, piece: &str) -> String {
        let rest = ["$HOME", "${HOME}"].iter().find_map(|home| piece.strip_prefix(home));
        let rest = rest.or_else(|| piece.strip_prefix('~').map(|rest| rest.trim_start_matches(|c| c != '/')));
        match (rest, &self.user_home) {
            (Some(rest), Some(user)) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", user.display()),
            (Some(_) | None, _) => resolve_proc_path(piece).to_owned(),
        }
    }

    /// Whether a pattern of file names could match a control; its literal folders contain no links.
    pub fn could_be_control(&self, pattern: &Path) -> bool {
        let parts: Vec<String> = pattern.iter().map(|part| fold(&part.to_string_lossy())).collect();
        self.control_paths.iter().any(|control| {
            if self.is_exempt(pattern, control) {
                return false;
            }
            let names: Vec<String> = control.iter().map(|name| fold(&name.to_string_lossy())).collect();
            names.len() <= parts.len() && parts.iter().zip(&names).all(|(part, name)| shell_could_match(part, name))
        })
    }
}

/// Resolves a path through a process's folder in `/proc`.
fn resolve_proc_path(piece: &str) -> &str {
    let rest = piece.strip_prefix("/proc/").and_then(|rest| rest.split_once('/'));
    match rest {
        Some((_, rest)) if rest.starts_with("cwd/") => &rest["cwd/".len()..],
        Some((_, rest)) if rest.starts_with("root/") => &rest["root".len()..],
        Some(_) | None => piece,
    }
}

/// Whether a shell pattern may match this file name, ignoring the rules for hidden files.
pub fn may_match(pattern: &str, name: &str) -> bool {
    pattern == name || glob_without_brackets(&fold(pattern)).matches(&fold(name))
}

/// Whether the shell could match this name with this pattern. A bracket expression counts as any one character.
fn shell_could_match(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with(['.', '\\']) {
        return pattern.starts_with('[') && pattern.contains('.') && glob_without_brackets(pattern).matches(name);
    }
    pattern == name || glob_without_brackets(pattern).matches(name)
}

/// The pattern with `?` for every bracket expression and without backslashes.
fn glob_without_brackets(pattern: &str) -> WordPattern {
    let mut plain = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((_, after)) = after.split_once(']') else { break };
        plain.push_str(before);
        plain.push('?');
        rest = after;
    }
    plain.push_str(rest);
    WordPattern::glob(&plain.replace('\\', ""))
}

/// Whether a text contains a complete path anywhere.
fn contains_path(text: &str, control: &str) -> bool {
    control.len() > 1 && text.match_indices(control).any(|(at, _)| is_name_end(&text[at + control.len()..]))
}

/// Removes this path from the beginning of every path in the text.
fn remove_path(text: &str, path: &str) -> String {
    let (mut result, mut from) = (String::new(), 0);
    for (at, _) in text.match_indices(path).filter(|(at, _)| is_name_end(&text[at + path.len()..])) {
        result.push_str(&text[from..at]);
        from = at + path.len();
    }
    result.push_str(&text[from..]);
    result
}

/// Whether the file name before this rest of a text ends there.
fn is_name_end(rest: &str) -> bool {
    !rest.starts_with(|c: char| c.is_alphanumeric() || "-_.".contains(c))
}

/// The last part of a program's path.
fn program_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
