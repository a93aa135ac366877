//! What controls Bosun itself, and how a call could reach it. No rule and no mode lets one.

use std::path::{Path, PathBuf};

use crate::Policy;
use crate::fold::{fold, fold_path, lies_in, normal};
use crate::pattern::WordPattern;
use crate::shell::{CommandFolders, ShellWord, SimpleCommand};

/// What a started `bosun` may be asked.
const HARMLESS: [&str; 4] = ["--version", "-V", "--help", "-h"];

fn text(word: &ShellWord) -> &str {
    match word {
        ShellWord::Known(text) | ShellWord::Glob(text) | ShellWord::Unknown(text) => text,
    }
}

impl Policy {
    /// Whether the path is, or lies in, what controls Bosun.
    pub(crate) fn is_control(&self, path: &Path) -> bool {
        self.controls.iter().any(|control| lies_in(path, control) && !self.is_spared(path, control))
    }

    /// Whether a path, or a pattern that begins with one, lies in a folder that this control spares.
    fn is_spared(&self, path: &Path, control: &Path) -> bool {
        self.exempt.iter().any(|spared| path.starts_with(spared) && spared.starts_with(control) && spared != control)
    }

    /// Where the commands of a line run, as far as their words tell.
    pub(crate) fn places(&self, commands: &[SimpleCommand], start: &Path) -> CommandFolders {
        let go =
            |from: &Path, target: &str| vec![normal(from, Path::new(&self.at_home(&target.replace(['"', '\''], ""))))];
        CommandFolders::follow(commands, start, go)
    }

    /// Whether a command names what controls Bosun, or starts Bosun for more than its version.
    pub(crate) fn reaches_controls(&self, simple: &SimpleCommand, folders: &[PathBuf]) -> bool {
        let harmless = |word: &ShellWord| matches!(word, ShellWord::Known(text) if HARMLESS.contains(&text.as_str()));
        if base(&simple.name) == "bosun" && (simple.args.is_empty() || !simple.args.iter().all(harmless)) {
            return true;
        }
        let name = ShellWord::Known(simple.name.clone());
        let words = simple.args.iter().chain(simple.assignments.iter().map(|(_, value)| value)).chain([&name]);
        words.into_iter().any(|word| self.is_word_of_controls(word, folders))
    }

    /// Whether a word names what controls Bosun, as far as that shows before it runs.
    pub(crate) fn is_word_of_controls(&self, word: &ShellWord, folders: &[PathBuf]) -> bool {
        if self.controls.is_empty() {
            return false;
        }
        let text = text(word);
        if text.contains('/') {
            let folded = fold(text);
            let spared = self.without_spared(&folded);
            if self.controls.iter().any(|control| mentions(&spared, &fold_path(control))) {
                return true;
            }
        }
        let text = text.replace(['"', '\''], "");
        let attached = text.starts_with('-').then(|| text.get(2..)).flatten();
        // Options and settings carry their file behind a sign.
        text.split(['=', ':', ',', '@']).chain(attached).filter(|piece| !piece.is_empty()).any(|piece| {
            let piece = self.at_home(piece);
            let paths = folders.iter().map(|folder| normal(folder, Path::new(&piece)));
            let could = |path: &Path| match word {
                ShellWord::Known(_) => self.is_control(path),
                ShellWord::Glob(_) | ShellWord::Unknown(_) => self.is_control(path) || self.could_be_control(path),
            };
            paths.into_iter().any(|path| could(&path))
        })
    }

    /// A folded text without the names of what is spared, unless it leads back up from there.
    fn without_spared(&self, folded: &str) -> String {
        let names = self.exempt.iter().map(|spared| fold_path(spared)).filter(|_| !folded.contains(".."));
        names.fold(folded.to_owned(), |text, name| without(&text, &name))
    }

    /// The piece with the user's folder in it, if it begins there; whose folder a `~name` is nobody looks up.
    fn at_home(&self, piece: &str) -> String {
        let rest = ["$HOME", "${HOME}"].iter().find_map(|home| piece.strip_prefix(home));
        let rest = rest.or_else(|| piece.strip_prefix('~').map(|rest| rest.trim_start_matches(|c| c != '/')));
        match (rest, &self.user) {
            (Some(rest), Some(user)) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", user.display()),
            (Some(_) | None, _) => from_process(piece).to_owned(),
        }
    }

    /// Whether a pattern of file names could find what controls Bosun; its plain folders are without links.
    pub fn could_be_control(&self, pattern: &Path) -> bool {
        let parts: Vec<String> = pattern.iter().map(|part| fold(&part.to_string_lossy())).collect();
        self.controls.iter().any(|control| {
            if self.is_spared(pattern, control) {
                return false;
            }
            let names: Vec<String> = control.iter().map(|name| fold(&name.to_string_lossy())).collect();
            names.len() <= parts.len() && parts.iter().zip(&names).all(|(part, name)| could_name(part, name))
        })
    }
}

/// What a path through a process's own folder names.
fn from_process(piece: &str) -> &str {
    let rest = piece.strip_prefix("/proc/").and_then(|rest| rest.split_once('/'));
    match rest {
        Some((_, rest)) if rest.starts_with("cwd/") => &rest["cwd/".len()..],
        Some((_, rest)) if rest.starts_with("root/") => &rest["root".len()..],
        Some(_) | None => piece,
    }
}

/// Whether a pattern of the shell may find a file of this name, hidden ones aside.
pub fn may_match(pattern: &str, name: &str) -> bool {
    pattern == name || bracketed(&fold(pattern)).matches(&fold(name))
}

/// Whether the shell could find this name by this pattern. What stands in brackets counts as any one character.
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

/// Whether a text names a path in full, at whatever place in it.
fn mentions(text: &str, control: &str) -> bool {
    control.len() > 1 && text.match_indices(control).any(|(at, _)| ends(&text[at + control.len()..]))
}

/// The text with every path that begins with this one beginning after it.
fn without(text: &str, path: &str) -> String {
    let (mut left, mut from) = (String::new(), 0);
    for (at, _) in text.match_indices(path).filter(|(at, _)| ends(&text[at + path.len()..])) {
        left.push_str(&text[from..at]);
        from = at + path.len();
    }
    left.push_str(&text[from..]);
    left
}

/// Whether a name has ended where this rest of a text begins.
fn ends(rest: &str) -> bool {
    !rest.starts_with(|c: char| c.is_alphanumeric() || "-_.".contains(c))
}

/// The last part of a program's path.
fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
