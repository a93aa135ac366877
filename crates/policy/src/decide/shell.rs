//! Deciding about shell commands: every program that one would start, every file that the shell would open, and
//! everything in it that cannot be read.

use std::path::{Path, PathBuf};

use protocol::{PermissionMode, RuleEffect, clip_middle};

use super::file::FileUse;
use super::{DefaultDecision, MAX_SHOWN_BYTES, deny_control};
use crate::fold::{normal, resolve};
use crate::pattern::quoted;
use crate::readonly::{self, ReadDepth};
use crate::request::{CommandScope, RequestPart};
use crate::shell::{self, CommandFolders, Redirect, RedirectMode, ShellScript, ShellWord, SimpleCommand};
use crate::{FilesystemFacts, Policy, Rule, Verdict, VerdictBasis};

/// Files that are only names for what the command has open anyway.
const STREAMS: [&str; 4] = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"];

/// What the commands of a line have in common.
struct ShellLineContext<'a> {
    folders: &'a CommandFolders,
    cwd: &'a Path,
    scope: CommandScope,
    facts: FilesystemFacts,
}

impl Policy {
    pub(super) fn shell(&self, tool: &str, command: &str, cwd: &Path, seen: FilesystemFacts) -> Vec<Verdict> {
        let script = shell::parse(command);
        let places = self.places(&script.commands, cwd);
        let company = command_scope(&script, command);
        let line = ShellLineContext { folders: &places, cwd, scope: company, facts: seen };
        let commands = script.commands.iter().enumerate();
        let mut parts: Vec<Verdict> = commands.map(|(at, simple)| self.simple(tool, simple, at, &line)).collect();
        let opened = script.files.iter().filter(|redirect| !is_stream(&redirect.file));
        parts.extend(opened.map(|redirect| self.opened(tool, redirect, &places)));
        parts.extend(script.unclear.iter().map(|unclear| self.unread(tool, &unclear.part, &unclear.why)));
        if places.too_many {
            parts.push(self.unread(tool, command, "it changes its folder too often to follow"));
        }
        if parts.is_empty() {
            parts.push(self.unread(tool, command, "it names no program"));
        }
        parts
    }

    fn simple(&self, tool: &str, simple: &SimpleCommand, at: usize, line: &ShellLineContext<'_>) -> Verdict {
        let named = clip_middle(&display_command(simple), MAX_SHOWN_BYTES);
        let folders = line.folders.at(at);
        if self.reaches_controls(simple, folders) {
            return deny_control(named);
        }
        if self.only_looks(simple, folders, line) {
            let otherwise = DefaultDecision { effect: RuleEffect::Allow, basis: VerdictBasis::ReadOnly };
            return self.decide(tool, &RequestPart::ReadOnlyCommand(simple, line.scope), named, otherwise);
        }
        let simple = &self.with_place(simple, folders, line);
        let part = RequestPart::Command(simple, line.scope);
        let usual = self.by_mode(&part);
        let otherwise = match usual.effect {
            RuleEffect::Ask if !simple.risks.is_empty() => {
                DefaultDecision { effect: RuleEffect::Ask, basis: VerdictBasis::Unclear(simple.risks.join("; ")) }
            }
            RuleEffect::Allow | RuleEffect::Ask | RuleEffect::Deny => usual,
        };
        self.decide(tool, &part, named, otherwise)
    }

    /// The command with what its place says of it: git runs programs that the settings of a repository name.
    fn with_place(&self, simple: &SimpleCommand, folders: &[PathBuf], line: &ShellLineContext<'_>) -> SimpleCommand {
        let mut simple = simple.clone();
        let is_git = simple.name.rsplit('/').next() == Some("git");
        if is_git && line.facts.hidden_repository {
            simple
                .risks
                .push("a folder that it names or runs in is a repository, whose settings may name programs".into());
        }
        if is_git && folders.iter().any(|folder| !self.is_inside(folder, line.cwd)) {
            simple.risks.push("it runs outside the workspace, where settings may name programs".into());
        }
        simple
    }

    /// Whether a command is one of those that only read, and everything it reads lies in the workspace and may be read.
    fn only_looks(&self, simple: &SimpleCommand, folders: &[PathBuf], line: &ShellLineContext<'_>) -> bool {
        let FilesystemFacts { inside, no_controls_below, plain_repository, hidden_repository } = line.facts;
        if !inside || self.mode == PermissionMode::AllowAll {
            return false;
        }
        let Some(looks) = readonly::read_only_inputs(simple) else { return false };
        let forbids = |rule: &&Rule| rule.effect != RuleEffect::Allow && rule.pattern().is_of_files();
        let some_forbidden = self.rules.iter().any(|rule| forbids(&rule));
        let fits = match looks.depth {
            ReadDepth::Named => true,
            ReadDepth::Visible => !some_forbidden && self.controls_are_hidden(line.cwd),
            ReadDepth::Everything => !some_forbidden && no_controls_below,
        };
        let git = !looks.git || plain_repository && !hidden_repository && !some_forbidden;
        let place = folders.iter().all(|folder| self.is_inside(folder, line.cwd));
        let readable = |word: &ShellWord| match word {
            ShellWord::Known(text) => {
                folders.iter().all(|folder| self.may_read(&normal(folder, Path::new(text)), line.cwd))
            }
            ShellWord::Glob(text) => {
                let plain = text.split(['*', '?', '[']).next().unwrap_or_default();
                let plain = plain.rsplit_once('/').map_or("", |(folder, _)| folder);
                let plain = if text.starts_with('/') && plain.is_empty() { "/" } else { plain };
                let climbs = text.split('/').any(|part| part == "..");
                let within = |folder: &PathBuf| self.may_read(&normal(folder, Path::new(plain)), line.cwd);
                !some_forbidden && !climbs && folders.iter().all(within)
            }
            ShellWord::Unknown(_) => false,
        };
        fits && git && place && looks.paths.iter().all(|word| readable(word))
    }

    fn may_read(&self, path: &Path, cwd: &Path) -> bool {
        let stream = STREAMS.iter().any(|stream| path == Path::new(stream));
        stream || self.is_inside(path, cwd) && self.file("view", path, FileUse::Read).effect == RuleEffect::Allow
    }

    /// Whether everything below a folder that controls Bosun has a hidden name there.
    fn controls_are_hidden(&self, folder: &Path) -> bool {
        let hidden = |below: &Path| below.iter().any(|part| part.as_encoded_bytes().starts_with(b"."));
        self.controls.iter().filter_map(|control| control.strip_prefix(folder).ok()).all(hidden)
    }

    fn opened(&self, tool: &str, redirect: &Redirect, places: &CommandFolders) -> Verdict {
        let how = match redirect.mode {
            RedirectMode::Read => FileUse::Read,
            RedirectMode::Write => FileUse::Edit,
        };
        let path = match &redirect.file {
            ShellWord::Known(path) => Path::new(path),
            ShellWord::Glob(text) | ShellWord::Unknown(text) => {
                let named = clip_middle(text, MAX_SHOWN_BYTES);
                let controls = self.is_word_of_controls(&redirect.file, places.all());
                return if controls { deny_control(named) } else { self.unknown_file(tool, &named, how) };
            }
        };
        let stays = path.is_absolute() || !places.has_changes;
        match resolve(places.first(), path).filter(|_| stays) {
            Some(path) => self.redirect(tool, &path, how, places.first()),
            None if self.is_word_of_controls(&redirect.file, places.all()) => deny_control(path.display().to_string()),
            None => self.unknown_file(tool, &path.display().to_string(), how),
        }
    }

    fn unread(&self, tool: &str, part: &str, why: &str) -> Verdict {
        let usual = self.by_mode(&RequestPart::Unparsed);
        let otherwise = match self.mode {
            PermissionMode::AllowAll | PermissionMode::Plan => usual,
            PermissionMode::Default | PermissionMode::AcceptEdits => {
                DefaultDecision { effect: RuleEffect::Ask, basis: VerdictBasis::Unclear(why.to_owned()) }
            }
        };
        self.decide(tool, &RequestPart::Unparsed, clip_middle(part, MAX_SHOWN_BYTES), otherwise)
    }
}

/// A here-document or here-string is not among the words of the command that reads it.
fn command_scope(script: &ShellScript, command: &str) -> CommandScope {
    let alone = script.commands.len() == 1 && script.files.is_empty() && script.unclear.is_empty();
    if alone && !command.contains("<<") { CommandScope::WholeLine } else { CommandScope::PartOfLine }
}

fn is_stream(word: &ShellWord) -> bool {
    match word {
        ShellWord::Known(path) => STREAMS.contains(&path.as_str()),
        ShellWord::Glob(_) | ShellWord::Unknown(_) => false,
    }
}

/// The command as people read it.
fn display_command(simple: &SimpleCommand) -> String {
    let word = |word: &ShellWord| match word {
        ShellWord::Known(text) => quoted(text),
        ShellWord::Glob(text) | ShellWord::Unknown(text) => text.clone(),
    };
    let sets = simple.assignments.iter().map(|(name, value)| format!("{name}={}", word(value)));
    let words: Vec<String> = sets.chain([quoted(&simple.name)]).chain(simple.args.iter().map(word)).collect();
    words.join(" ")
}
