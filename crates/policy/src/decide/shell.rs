//! Decides about shell commands: every program that a command line would start, every file that the shell would
//! open, and every part that cannot be parsed.

use std::path::{Path, PathBuf};

use protocol::{PermissionMode, RuleEffect, clip_middle, tool_name};
use shell_parser::{CommandFolders, Redirect, RedirectMode, ShellScript, ShellWord, SimpleCommand};

use super::file::FileUse;
use super::{DefaultDecision, MAX_SHOWN_BYTES, deny_control};
use crate::fold::{normalize_path, resolve};
use crate::pattern::quote_word;
use crate::readonly::{self, ReadDepth};
use crate::request::{CommandScope, RequestPart};
use crate::{FilesystemFacts, Policy, Rule, Verdict, VerdictBasis};

/// Files that only name streams which the command has open anyway.
const STREAM_FILES: [&str; 4] = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"];

/// Context shared by the commands of a line.
struct ShellLineContext<'a> {
    folders: &'a CommandFolders,
    cwd: &'a Path,
    scope: CommandScope,
    facts: FilesystemFacts,
}

impl Policy {
    pub(super) fn judge_shell(&self, tool: &str, command: &str, cwd: &Path, facts: FilesystemFacts) -> Vec<Verdict> {
        let script = shell_parser::parse(command);
        let folders = self.command_folders(&script.commands, cwd);
        let scope = command_scope(&script, command);
        let line = ShellLineContext { folders: &folders, cwd, scope, facts };
        let commands = script.commands.iter().enumerate();
        let mut parts: Vec<Verdict> =
            commands.map(|(at, simple)| self.judge_simple_command(tool, simple, at, &line)).collect();
        let opened = script.files.iter().filter(|redirect| !is_stream(&redirect.file));
        parts.extend(opened.map(|redirect| self.judge_redirect(tool, redirect, &folders)));
        parts.extend(script.unclear.iter().map(|unclear| self.judge_unparsed(tool, &unclear.part, &unclear.why)));
        if folders.too_many {
            parts.push(self.judge_unparsed(tool, command, "it changes its folder too often to follow"));
        }
        if parts.is_empty() {
            parts.push(self.judge_unparsed(tool, command, "it names no program"));
        }
        parts
    }

    fn judge_simple_command(
        &self,
        tool: &str,
        simple: &SimpleCommand,
        at: usize,
        line: &ShellLineContext<'_>,
    ) -> Verdict {
        let shown = clip_middle(&display_command(simple), MAX_SHOWN_BYTES);
        let folders = line.folders.of_command(at);
        if self.reaches_controls(simple, folders) {
            return deny_control(shown);
        }
        if self.is_read_only(simple, folders, line) {
            let part = RequestPart::ReadOnlyCommand(simple, line.scope);
            let default = match self.asks_reads {
                true => self.default_by_mode(&part),
                false => DefaultDecision { effect: RuleEffect::Allow, basis: VerdictBasis::ReadOnly },
            };
            return self.decide(tool, &part, shown, default);
        }
        let simple = &self.with_folder_risks(simple, folders, line);
        let part = RequestPart::Command(simple, line.scope);
        let by_mode = self.default_by_mode(&part);
        let default = match by_mode.effect {
            RuleEffect::Ask if !simple.risks.is_empty() => {
                DefaultDecision { effect: RuleEffect::Ask, basis: VerdictBasis::Unclear(simple.risks.join("; ")) }
            }
            RuleEffect::Allow | RuleEffect::Ask | RuleEffect::Deny => by_mode,
        };
        self.decide(tool, &part, shown, default)
    }

    /// Adds the risks of a command's folder: git runs programs that a repository's settings name.
    fn with_folder_risks(
        &self,
        simple: &SimpleCommand,
        folders: &[PathBuf],
        line: &ShellLineContext<'_>,
    ) -> SimpleCommand {
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

    /// Whether a command only reads, and everything it reads is in the workspace and may be read.
    fn is_read_only(&self, simple: &SimpleCommand, folders: &[PathBuf], line: &ShellLineContext<'_>) -> bool {
        let FilesystemFacts { inside, no_controls_below, plain_repository, hidden_repository } = line.facts;
        if !inside || self.mode == PermissionMode::AllowAll {
            return false;
        }
        let Some(inputs) = readonly::read_only_inputs(simple) else { return false };
        let forbids = |rule: &&Rule| rule.effect != RuleEffect::Allow && rule.pattern().matches_reads();
        let has_read_restrictions = self.rules.iter().any(|rule| forbids(&rule));
        let depth_allowed = match inputs.depth {
            ReadDepth::Named => true,
            ReadDepth::Visible => !has_read_restrictions && self.controls_are_hidden(line.cwd),
            ReadDepth::Everything => !has_read_restrictions && no_controls_below,
        };
        let git_allowed = !inputs.is_git || plain_repository && !hidden_repository && !has_read_restrictions;
        let folders_inside = folders.iter().all(|folder| self.is_inside(folder, line.cwd));
        let readable = |word: &ShellWord| match word {
            ShellWord::Known(text) => {
                folders.iter().all(|folder| self.may_read(&normalize_path(folder, Path::new(text)), line.cwd))
            }
            ShellWord::Glob(text) => {
                let plain = text.split(['*', '?', '[']).next().unwrap_or_default();
                let plain = plain.rsplit_once('/').map_or("", |(folder, _)| folder);
                let plain = if text.starts_with('/') && plain.is_empty() { "/" } else { plain };
                let climbs = text.split('/').any(|part| part == "..");
                let within = |folder: &PathBuf| self.may_read(&normalize_path(folder, Path::new(plain)), line.cwd);
                !has_read_restrictions && !climbs && folders.iter().all(within)
            }
            ShellWord::Unknown(_) => false,
        };
        depth_allowed && git_allowed && folders_inside && inputs.paths.iter().all(|word| readable(word))
    }

    fn may_read(&self, path: &Path, cwd: &Path) -> bool {
        let stream = STREAM_FILES.iter().any(|stream| path == Path::new(stream));
        stream
            || self.is_inside(path, cwd)
                && self.judge_file(tool_name::VIEW, path, FileUse::Read).effect == RuleEffect::Allow
    }

    /// Whether every control below a folder has a hidden name.
    fn controls_are_hidden(&self, folder: &Path) -> bool {
        let hidden = |below: &Path| below.iter().any(|part| part.as_encoded_bytes().starts_with(b"."));
        self.control_paths.iter().filter_map(|control| control.strip_prefix(folder).ok()).all(hidden)
    }

    /// Decides about a redirect, which is shown with its sign: the name of a file alone looks like no part of a command.
    fn judge_redirect(&self, tool: &str, redirect: &Redirect, folders: &CommandFolders) -> Verdict {
        let (how, sign) = match redirect.mode {
            RedirectMode::Read => (FileUse::Read, '<'),
            RedirectMode::Write => (FileUse::Edit, '>'),
        };
        let verdict = self.judge_redirected_file(tool, redirect, how, folders);
        Verdict { part: format!("{sign} {}", verdict.part), ..verdict }
    }

    fn judge_redirected_file(
        &self,
        tool: &str,
        redirect: &Redirect,
        how: FileUse,
        folders: &CommandFolders,
    ) -> Verdict {
        let path = match &redirect.file {
            ShellWord::Known(path) => Path::new(path),
            ShellWord::Glob(text) | ShellWord::Unknown(text) => {
                let shown = clip_middle(text, MAX_SHOWN_BYTES);
                let controls = self.names_control(&redirect.file, folders.all());
                return if controls { deny_control(shown) } else { self.judge_unknown_file(tool, &shown, how) };
            }
        };
        let is_path_known = path.is_absolute() || !folders.has_changes;
        match resolve(folders.first(), path).filter(|_| is_path_known) {
            Some(path) => self.judge_redirect_file(tool, &path, how, folders.first()),
            None if self.names_control(&redirect.file, folders.all()) => deny_control(path.display().to_string()),
            None => self.judge_unknown_file(tool, &path.display().to_string(), how),
        }
    }

    fn judge_unparsed(&self, tool: &str, part: &str, why: &str) -> Verdict {
        let by_mode = self.default_by_mode(&RequestPart::Unparsed);
        let default = match self.mode {
            PermissionMode::AllowAll | PermissionMode::Plan => by_mode,
            PermissionMode::Default | PermissionMode::AcceptEdits => {
                DefaultDecision { effect: RuleEffect::Ask, basis: VerdictBasis::Unclear(why.to_owned()) }
            }
        };
        self.decide(tool, &RequestPart::Unparsed, clip_middle(part, MAX_SHOWN_BYTES), default)
    }
}

/// A here-document or here-string is not part of the words of the command that reads it.
fn command_scope(script: &ShellScript, command: &str) -> CommandScope {
    let alone = script.commands.len() == 1 && script.files.is_empty() && script.unclear.is_empty();
    if alone && !command.contains("<<") { CommandScope::WholeLine } else { CommandScope::PartOfLine }
}

fn is_stream(word: &ShellWord) -> bool {
    match word {
        ShellWord::Known(path) => STREAM_FILES.contains(&path.as_str()),
        ShellWord::Glob(_) | ShellWord::Unknown(_) => false,
    }
}

/// The command for display.
fn display_command(simple: &SimpleCommand) -> String {
    let word = |word: &ShellWord| match word {
        ShellWord::Known(text) => quote_word(text),
        ShellWord::Glob(text) | ShellWord::Unknown(text) => text.clone(),
    };
    let assignments = simple.assignments.iter().map(|(name, value)| format!("{name}={}", word(value)));
    let words: Vec<String> =
        assignments.chain([quote_word(&simple.name)]).chain(simple.args.iter().map(word)).collect();
    words.join(" ")
}
