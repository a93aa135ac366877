//! Deciding about shell commands: every program that one would start, every file that the shell would open, and
//! everything in it that cannot be read.

use std::path::Path;

use protocol::{PermissionMode, RuleEffect, clip_middle};

use super::file::Use;
use super::{Otherwise, SHOWN, controlled};
use crate::controls::Folders;
use crate::fold::resolve;
use crate::pattern::quoted;
use crate::request::{Company, Part};
use crate::shell::{self, Open, Redirect, Script, Simple, Word};
use crate::{Ground, Policy, Verdict};

/// Files that are only names for what the command has open anyway.
const STREAMS: [&str; 4] = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"];

impl Policy {
    pub(super) fn shell(&self, tool: &str, command: &str, cwd: &Path) -> Vec<Verdict> {
        let script = shell::read(command);
        let folders = Folders::of(self, &script.commands, cwd);
        let company = company(&script, command);
        let mut parts: Vec<Verdict> =
            script.commands.iter().map(|simple| self.simple(tool, simple, company, &folders)).collect();
        let opened = script.files.iter().filter(|redirect| !is_stream(&redirect.file));
        parts.extend(opened.map(|redirect| self.opened(tool, redirect, &folders)));
        parts.extend(script.unclear.iter().map(|unclear| self.unread(tool, &unclear.part, &unclear.why)));
        if folders.are_many {
            parts.push(self.unread(tool, command, "it changes its folder too often to follow"));
        }
        if parts.is_empty() {
            parts.push(self.unread(tool, command, "it names no program"));
        }
        parts
    }

    fn simple(&self, tool: &str, simple: &Simple, company: Company, folders: &Folders) -> Verdict {
        let named = clip_middle(&shown(simple), SHOWN);
        if self.reaches_controls(simple, folders) {
            return controlled(named);
        }
        let part = Part::Command(simple, company);
        let usual = self.by_mode(&part);
        let otherwise = match usual.effect {
            RuleEffect::Ask if !simple.tricks.is_empty() => {
                Otherwise { effect: RuleEffect::Ask, ground: Ground::Unclear(simple.tricks.join("; ")) }
            }
            RuleEffect::Allow | RuleEffect::Ask | RuleEffect::Deny => usual,
        };
        self.decide(tool, &part, named, otherwise)
    }

    fn opened(&self, tool: &str, redirect: &Redirect, folders: &Folders) -> Verdict {
        let how = match redirect.open {
            Open::Read => Use::Read,
            Open::Write => Use::Edit,
        };
        let path = match &redirect.file {
            Word::Known(path) => Path::new(path),
            Word::Glob(text) | Word::Unknown(text) => {
                let named = clip_middle(text, SHOWN);
                let controls = self.is_word_of_controls(&redirect.file, folders);
                return if controls { controlled(named) } else { self.unknown_file(tool, &named, how) };
            }
        };
        let stays = path.is_absolute() || !folders.have_changed();
        match resolve(folders.first(), path).filter(|_| stays) {
            Some(path) => self.redirect(tool, &path, how, folders.first()),
            None if self.is_word_of_controls(&redirect.file, folders) => controlled(path.display().to_string()),
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
