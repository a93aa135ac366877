//! Files that control Bosun itself, and how a call could reach them. No rule and no mode allows it.

use std::path::{Path, PathBuf};

use crate::Policy;
use crate::fold::{fold, fold_path, is_within, normalize_path};
use crate::pattern::WordPattern;
use crate::shell::{CommandFolders, ShellWord, SimpleCommand};

/// Arguments with which an agent may start `bosun`.
const HARMLESS: [&str; 4] = ["--version", "-V", "--help", "-h"];

fn text(word: &ShellWord) -> &str {
    match word {
        ShellWord::Known(text) | ShellWord::Glob(text) | ShellWord::Unknown(text) => text,
    }
}

impl Policy {
    /// Whether the path is a control or inside one.
    pub(crate) fn is_control(&self, path: &Path) -> bool {
        self.controls.iter().any(|control| is_within(path, control) && !self.is_exempt(path, control))
    }

    /// Whether a path, or a pattern that begins with one, is in a folder exempt from this control.
    fn is_exempt(&self, path: &Path, control: &Path) -> bool {
        self.exempt.iter().any(|exempt| path.starts_with(exempt) && exempt.starts_with(control) && exempt != control)
    }

    /// The folders that the commands of a line run in, as far as their words show.
    pub(crate) fn command_folders(&self, commands: &[SimpleCommand], start: &Path) -> CommandFolders {
        let change_folder = |from: &Path, target: &str| {
            vec![normalize_path(from, Path::new(&self.at_home(&target.replace(['"', '\''], ""))))]
        };
        CommandFolders::follow(commands, start, change_folder)
    }

    /// Whether a command names a control, or starts Bosun for more than its version or help.
    pub(crate) fn reaches_controls(&self, simple: &SimpleCommand, folders: &[PathBuf]) -> bool {
        let harmless = |word: &ShellWord| matches!(word, ShellWord::Known(text) if HARMLESS.contains(&text.as_str()));
        if base(&simple.name) == "bosun" && (simple.args.is_empty() || !simple.args.iter().all(harmless)) {
            return true;
        }
        let name = ShellWord::Known(simple.name.clone());
        let words = simple.args.iter().chain(simple.assignments.iter().map(|(_, value)| value)).chain([&name]);
        words.into_iter().any(|word| self.names_control(word, folders))
    }

    /// Whether a word names a control, as far as that can be known before it runs.
    pub(crate) fn names_control(&self, word: &ShellWord, folders: &[PathBuf]) -> bool {
        if self.controls.is_empty() {
            return false;
        }
        let text = text(word);
        if text.contains('/') {
            let folded = fold(text);
            let remaining = self.without_exempt(&folded);
            if self.controls.iter().any(|control| mentions(&remaining, &fold_path(control))) {
                return true;
            }
        }
        let text = text.replace(['"', '\''], "");
        let attached = text.starts_with('-').then(|| text.get(2..)).flatten();
        // Options and settings have their file after a separator.
        text.split(['=', ':', ',', '@']).chain(attached).filter(|piece| !piece.is_empty()).any(|piece| {
            let piece = self.at_home(piece);
            let paths = folders.iter().map(|folder| normalize_path(folder, Path::new(&piece)));
            let could = |path: &Path| match word {
                ShellWord::Known(_) => self.is_control(path),
                ShellWord::Glob(_) | ShellWord::Unknown(_) => self.is_control(path) || self.could_be_control(path),
            };
            paths.into_iter().any(|path| could(&path))
        })
    }

    /// Removes exempt paths from a folded text, unless it leads back up from there.
    fn without_exempt(&self, folded: &str) -> String {
        let names = self.exempt.iter().map(|exempt| fold_path(exempt)).filter(|_| !folded.contains(".."));
        names.fold(folded.to_owned(), |text, name| without(&text, &name))
    }

    /// Expands the user's home folder at the beginning of a piece. `~name` is treated as `~`, without a look-up.
    fn at_home(&self, piece: &str) -> String {
        let rest = ["$HOME", "${HOME}"].iter().find_map(|home| piece.strip_prefix(home));
        let rest = rest.or_else(|| piece.strip_prefix('~').map(|rest| rest.trim_start_matches(|c| c != '/')));
        match (rest, &self.user) {
            (Some(rest), Some(user)) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", user.display()),
            (Some(_) | None, _) => from_process(piece).to_owned(),
        }
    }

    /// Whether a pattern of file names could match a control; its literal folders are without links.
    pub fn could_be_control(&self, pattern: &Path) -> bool {
        let parts: Vec<String> = pattern.iter().map(|part| fold(&part.to_string_lossy())).collect();
        self.controls.iter().any(|control| {
            if self.is_exempt(pattern, control) {
                return false;
            }
            let names: Vec<String> = control.iter().map(|name| fold(&name.to_string_lossy())).collect();
            names.len() <= parts.len() && parts.iter().zip(&names).all(|(part, name)| could_name(part, name))
        })
    }
}

/// Resolves a path through a process's folder in `/proc`.
fn from_process(piece: &str) -> &str {
    let rest = piece.strip_prefix("/proc/").and_then(|rest| rest.split_once('/'));
    match rest {
        Some((_, rest)) if rest.starts_with("cwd/") => &rest["cwd/".len()..],
        Some((_, rest)) if rest.starts_with("root/") => &rest["root".len()..],
        Some(_) | None => piece,
    }
}

/// Whether a shell pattern may match this file name, ignoring the rules for hidden files.
pub fn may_match(pattern: &str, name: &str) -> bool {
    pattern == name || bracketed(&fold(pattern)).matches(&fold(name))
}

/// Whether the shell could match this name with this pattern. Brackets count as any one character.
fn could_name(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with(['.', '\\']) {
        return pattern.starts_with('[') && pattern.contains('.') && bracketed(pattern).matches(name);
    }
    pattern == name || bracketed(pattern).matches(name)
}

fn bracketed(pattern: &str) -> WordPattern {
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
fn mentions(text: &str, control: &str) -> bool {
    control.len() > 1 && text.match_indices(control).any(|(at, _)| ends(&text[at + control.len()..]))
}

/// Removes this path from the beginning of every path in the text.
fn without(text: &str, path: &str) -> String {
    let (mut left, mut from) = (String::new(), 0);
    for (at, _) in text.match_indices(path).filter(|(at, _)| ends(&text[at + path.len()..])) {
        left.push_str(&text[from..at]);
        from = at + path.len();
    }
    left.push_str(&text[from..]);
    left
}

/// Whether a name ends where this rest of a text begins.
fn ends(rest: &str) -> bool {
    !rest.starts_with(|c: char| c.is_alphanumeric() || "-_.".contains(c))
}

/// The last part of a program's path.
fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
