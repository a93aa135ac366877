//! Deciding about shell commands: every program that one would start, every file that the shell would open, and
//! everything in it that cannot be read.

use std::path::{Path, PathBuf};

use protocol::{PermissionMode, RuleEffect, clip_middle};

use super::file::Use;
use super::{Otherwise, SHOWN, controlled};
use crate::fold::{normal, resolve};
use crate::pattern::quoted;
use crate::readonly::{self, Depth};
use crate::request::{Company, Part};
use crate::shell::{self, Open, Places, Redirect, Script, Simple, Word};
use crate::{Ground, Policy, Rule, Seen, Verdict};

/// Files that are only names for what the command has open anyway.
const STREAMS: [&str; 4] = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"];

/// What the commands of a line have in common.
struct Line<'a> {
    places: &'a Places,
    cwd: &'a Path,
    company: Company,
    seen: Seen,
}

impl Policy {
    pub(super) fn shell(&self, tool: &str, command: &str, cwd: &Path, seen: Seen) -> Vec<Verdict> {
        let script = shell::read(command);
        let places = self.places(&script.commands, cwd);
        let company = company(&script, command);
        let line = Line { places: &places, cwd, company, seen };
        let commands = script.commands.iter().enumerate();
        let mut parts: Vec<Verdict> = commands.map(|(at, simple)| self.simple(tool, simple, at, &line)).collect();
        let opened = script.files.iter().filter(|redirect| !is_stream(&redirect.file));
        parts.extend(opened.map(|redirect| self.opened(tool, redirect, &places)));
        parts.extend(script.unclear.iter().map(|unclear| self.unread(tool, &unclear.part, &unclear.why)));
        if places.are_many {
            parts.push(self.unread(tool, command, "it changes its folder too often to follow"));
        }
        if parts.is_empty() {
            parts.push(self.unread(tool, command, "it names no program"));
        }
        parts
    }

    fn simple(&self, tool: &str, simple: &Simple, at: usize, line: &Line<'_>) -> Verdict {
        let named = clip_middle(&shown(simple), SHOWN);
        let folders = line.places.at(at);
        if self.reaches_controls(simple, folders) {
            return controlled(named);
        }
        if self.only_looks(simple, folders, line) {
            let otherwise = Otherwise { effect: RuleEffect::Allow, ground: Ground::ReadOnly };
            return self.decide(tool, &Part::Look(simple, line.company), named, otherwise);
        }
        let simple = &self.with_place(simple, folders, line);
        let part = Part::Command(simple, line.company);
        let usual = self.by_mode(&part);
        let otherwise = match usual.effect {
            RuleEffect::Ask if !simple.tricks.is_empty() => {
                Otherwise { effect: RuleEffect::Ask, ground: Ground::Unclear(simple.tricks.join("; ")) }
            }
            RuleEffect::Allow | RuleEffect::Ask | RuleEffect::Deny => usual,
        };
        self.decide(tool, &part, named, otherwise)
    }

    /// The command with what its place says of it: git runs programs that the settings of a repository name.
    fn with_place(&self, simple: &Simple, folders: &[PathBuf], line: &Line<'_>) -> Simple {
        let mut simple = simple.clone();
        let is_git = simple.name.rsplit('/').next() == Some("git");
        if is_git && line.seen.hidden_repository {
            simple
                .tricks
                .push("a folder that it names or runs in is a repository, whose settings may name programs".into());
        }
        if is_git && folders.iter().any(|folder| !self.is_inside(folder, line.cwd)) {
            simple.tricks.push("it runs outside the workspace, where settings may name programs".into());
        }
        simple
    }

    /// Whether a command is one of those that only read, and everything it reads lies in the workspace and may be read.
    fn only_looks(&self, simple: &Simple, folders: &[PathBuf], line: &Line<'_>) -> bool {
        let Seen { inside, no_controls_below, plain_repository, hidden_repository } = line.seen;
        if !inside || self.mode == PermissionMode::AllowAll {
            return false;
        }
        let Some(looks) = readonly::looks(simple) else { return false };
        let forbids = |rule: &&Rule| rule.effect != RuleEffect::Allow && rule.pattern().is_of_files();
        let some_forbidden = self.rules.iter().any(|rule| forbids(&rule));
        let fits = match looks.depth {
            Depth::Named => true,
            Depth::Visible => !some_forbidden && self.controls_are_hidden(line.cwd),
            Depth::Everything => !some_forbidden && no_controls_below,
        };
        let git = !looks.git || plain_repository && !hidden_repository && !some_forbidden;
        let place = folders.iter().all(|folder| self.is_inside(folder, line.cwd));
        let readable = |word: &Word| match word {
            Word::Known(text) => folders.iter().all(|folder| self.may_read(&normal(folder, Path::new(text)), line.cwd)),
            Word::Glob(text) => {
                let plain = text.split(['*', '?', '[']).next().unwrap_or_default();
                let plain = plain.rsplit_once('/').map_or("", |(folder, _)| folder);
                let plain = if text.starts_with('/') && plain.is_empty() { "/" } else { plain };
                let climbs = text.split('/').any(|part| part == "..");
                let within = |folder: &PathBuf| self.may_read(&normal(folder, Path::new(plain)), line.cwd);
                !some_forbidden && !climbs && folders.iter().all(within)
            }
            Word::Unknown(_) => false,
        };
        fits && git && place && looks.paths.iter().all(|word| readable(word))
    }

    fn may_read(&self, path: &Path, cwd: &Path) -> bool {
        let stream = STREAMS.iter().any(|stream| path == Path::new(stream));
        stream || self.is_inside(path, cwd) && self.file("view", path, Use::Read).effect == RuleEffect::Allow
    }

    /// Whether everything below a folder that controls Bosun has a hidden name there.
    fn controls_are_hidden(&self, folder: &Path) -> bool {
        let hidden = |below: &Path| below.iter().any(|part| part.as_encoded_bytes().starts_with(b"."));
        self.controls.iter().filter_map(|control| control.strip_prefix(folder).ok()).all(hidden)
    }

    fn opened(&self, tool: &str, redirect: &Redirect, places: &Places) -> Verdict {
        let how = match redirect.open {
            Open::Read => Use::Read,
            Open::Write => Use::Edit,
        };
        let path = match &redirect.file {
            Word::Known(path) => Path::new(path),
            Word::Glob(text) | Word::Unknown(text) => {
                let named = clip_middle(text, SHOWN);
                let controls = self.is_word_of_controls(&redirect.file, places.all());
                return if controls { controlled(named) } else { self.unknown_file(tool, &named, how) };
            }
        };
        let stays = path.is_absolute() || !places.changed;
        match resolve(places.first(), path).filter(|_| stays) {
            Some(path) => self.redirect(tool, &path, how, places.first()),
            None if self.is_word_of_controls(&redirect.file, places.all()) => controlled(path.display().to_string()),
            None => self.unknown_file(tool, &path.display().to_string(), how),
        }
    }

    fn unread(&self, tool: &str, part: &str, why: &str) -> Verdict {
        let usual = self.by_mode(&Part::Unread);
        let otherwise = match self.mode {
            PermissionMode::AllowAll | PermissionMode::Plan => usual,
            PermissionMode::Default | PermissionMode::AcceptEdits => {
                Otherwise { effect: RuleEffect::Ask, ground: Ground::Unclear(why.to_owned()) }
            }
        };
        self.decide(tool, &Part::Unread, clip_middle(part, SHOWN), otherwise)
    }
}

/// A here-document or here-string is not among the words of the command that reads it.
fn company(script: &Script, command: &str) -> Company {
    let alone = script.commands.len() == 1 && script.files.is_empty() && script.unclear.is_empty();
    if alone && !command.contains("<<") { Company::Alone } else { Company::Among }
}

fn is_stream(word: &Word) -> bool {
    match word {
        Word::Known(path) => STREAMS.contains(&path.as_str()),
        Word::Glob(_) | Word::Unknown(_) => false,
    }
}

/// The command as people read it.
fn shown(simple: &Simple) -> String {
    let word = |word: &Word| match word {
        Word::Known(text) => quoted(text),
        Word::Glob(text) | Word::Unknown(text) => text.clone(),
    };
    let sets = simple.sets.iter().map(|(name, value)| format!("{name}={}", word(value)));
    let words: Vec<String> = sets.chain([quoted(&simple.name)]).chain(simple.args.iter().map(word)).collect();
    words.join(" ")
}
