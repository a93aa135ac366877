//! Imports the files of Claude Code.

use std::path::{Path, PathBuf};

use protocol::{PermissionMode, RuleEffect};
use serde_json::Value;

use super::paths::{CopiedPath, ReadInPlacePath, SKILL, SkippedPath, TrustRequirement, read_in_place, report_skipped};
use super::product_file::{JsonTable, ProductFile, SourceOwner};
use super::product_folder::ProductFolder;
use super::survey::ImportSurvey;
use super::values::{self, NO_MEMORY, NO_SERVERS};
use crate::foreign_settings;

const OF_USER: [ReadInPlacePath; 4] = [
    ReadInPlacePath("CLAUDE.md", "instructions", ""),
    ReadInPlacePath("agents", "agents", ".md"),
    ReadInPlacePath("commands", "slash commands", ".md"),
    ReadInPlacePath("skills", "skills", SKILL),
];

/// The same paths, for a folder that Bosun does not read in place.
const COPIED: [CopiedPath; 4] = [
    CopiedPath("CLAUDE.md", "AGENTS.md", "instructions", ""),
    CopiedPath("agents", "agents", "agent", ".md"),
    CopiedPath("commands", "commands", "slash command", ".md"),
    CopiedPath("skills", "skills", "skill", SKILL),
];

const INSTRUCTIONS: [ReadInPlacePath; 4] = [
    ReadInPlacePath("CLAUDE.md", "instructions", ""),
    ReadInPlacePath(".claude/CLAUDE.md", "instructions", ""),
    ReadInPlacePath("CLAUDE.local.md", "instructions", ""),
    ReadInPlacePath(".claude/rules", "instructions", ".md"),
];

const OF_PROJECT: [ReadInPlacePath; 3] = [
    ReadInPlacePath(".claude/agents", "agents", ".md"),
    ReadInPlacePath(".claude/commands", "slash commands", ".md"),
    ReadInPlacePath(".claude/skills", "skills", SKILL),
];

const NOT_OF_USER: [SkippedPath; 5] = [
    SkippedPath(
        "rules",
        "instructions",
        "Bosun reads .claude/rules in projects only; put the text into ~/.claude/CLAUDE.md",
    ),
    SkippedPath("output-styles", "output styles", "Bosun has none; describe the style in ~/.claude/CLAUDE.md"),
    SkippedPath(
        "plugins",
        "plugins",
        "name the folder of a plugin with --plugin-dir, or put it into `plugins` of Bosun's home",
    ),
    SkippedPath("projects", "sessions and memory", "sessions and memories of other products cannot be imported yet"),
    SkippedPath("agent-memory", "memory", NO_MEMORY),
];

const NOT_OF_PROJECT: [SkippedPath; 2] = [
    SkippedPath(".claude/output-styles", "output styles", "Bosun has none; describe the style in CLAUDE.md"),
    SkippedPath(".claude/agent-memory", "memory", NO_MEMORY),
];

/// Keys that Bosun reads in place.
const READ: [&str; 2] = ["hooks", "disableAllHooks"];

/// Keys without an effect.
const HARMLESS: [&str; 1] = ["$schema"];

/// Prefixes of variables that are for Claude Code itself.
const ITS_OWN: [&str; 5] = ["CLAUDE_", "ANTHROPIC_", "DISABLE_", "MCP_", "BASH_"];

/// Scans all files of Claude Code.
pub(super) fn scan(survey: &mut ImportSurvey<'_>) {
    let top = survey.places.project.top.clone();
    if let Some(own) = ProductFolder::of(survey, ".claude") {
        settings(survey, own.join("settings.json"), own.owner);
        // A relocated folder has this file inside it.
        let state_file = match (own.owner, survey.places.user) {
            (SourceOwner::User, Some(user)) => user.join(".claude.json"),
            (_, _) => own.join(".claude.json"),
        };
        state(survey, &state_file, &top);
        own.read_or_copy(survey, &OF_USER, &COPIED);
        own.report_skipped(survey, &NOT_OF_USER);
    }
    // In the user's home folder, the project's files are the user's own.
    if survey.places.user != Some(&top) {
        settings(survey, top.join(".claude/settings.json"), SourceOwner::Project);
        settings(survey, top.join(".claude/settings.local.json"), SourceOwner::Project);
        read_in_place(survey, &top, TrustRequirement::Nothing, &INSTRUCTIONS);
        read_in_place(survey, &top, TrustRequirement::Trust, &OF_PROJECT);
        report_skipped(survey, &top, &NOT_OF_PROJECT);
    }
    servers(survey, &top.join(".mcp.json"));
}

fn settings(survey: &mut ImportSurvey<'_>, path: PathBuf, owner: SourceOwner) {
    ProductFile::walk(survey, path, owner, &["permissions", "model", "effortLevel", "env"], setting);
}

fn setting(survey: &mut ImportSurvey<'_>, source: &ProductFile, table: &JsonTable, key: &str) {
    match key {
        "permissions" => {
            if let Some(permissions) = values::table(survey, source, table, key) {
                rules(survey, source, permissions);
            }
        }
        "model" => {
            if let Some(name) = values::text(survey, source, table, key) {
                survey.foreign_model(source, name);
            }
        }
        "effortLevel" => {
            if let Some(effort) = values::text(survey, source, table, key) {
                survey.effort(source, format!("{key} {effort}"), effort);
            }
        }
        "env" => {
            if let Some(env) = values::table(survey, source, table, key) {
                variables(survey, source, env);
            }
        }
        read if READ.contains(&read) => match source.owner {
            SourceOwner::Relocated => {
                let why = "Bosun reads hooks from ~/.claude/settings.json, not from a relocated folder; put them \
                           there, or into `hooks` of Bosun's home";
                survey.not_imported(&source.path, read, why);
            }
            SourceOwner::User | SourceOwner::Local | SourceOwner::Project | SourceOwner::OutsideTrust => {
                survey.in_place(source, read)
            }
        },
        harmless if HARMLESS.contains(&harmless) => {}
        other => survey.not_imported(&source.path, other, why_not(other)),
    }
}

fn why_not(key: &str) -> &'static str {
    match key {
        "apiKeyHelper" | "awsAuthRefresh" | "awsCredentialExport" => {
            "Bosun reads keys from the environment; `bosun models` lists the variables"
        }
        "enabledMcpjsonServers" | "disabledMcpjsonServers" | "enableAllProjectMcpServers" | "allowedMcpServers" => {
            NO_SERVERS
        }
        "enabledPlugins" | "extraKnownMarketplaces" => {
            "name the folder of a plugin with --plugin-dir, or put it into `plugins` of Bosun's home"
        }
        "sandbox" => "Bosun has no sandbox; its rules decide what a call may do",
        "cleanupPeriodDays" => "write it as retention.days into config.toml",
        _other => "Bosun has no such setting",
    }
}

fn rules(survey: &mut ImportSurvey<'_>, source: &ProductFile, permissions: &JsonTable) {
    for text in values::texts(survey, source, permissions, "allow") {
        allow(survey, source, text);
    }
    for effect in [RuleEffect::Ask, RuleEffect::Deny] {
        let texts = values::texts(survey, source, permissions, effect.as_str());
        for text in texts {
            let found = format!("{} {text}", effect.as_str());
            match source.owner {
                SourceOwner::Relocated => narrow(survey, source, found, effect, text),
                SourceOwner::User | SourceOwner::Local | SourceOwner::Project | SourceOwner::OutsideTrust => {
                    survey.in_place(source, found)
                }
            }
        }
    }
    if let Some(mode) = values::text(survey, source, permissions, "defaultMode") {
        default_mode(survey, source, mode);
    }
    for folder in values::texts(survey, source, permissions, "additionalDirectories") {
        survey.folder(source, folder);
    }
    let known = ["allow", "ask", "deny", "defaultMode", "additionalDirectories"];
    for key in permissions.keys().filter(|key| !known.contains(&key.as_str())) {
        survey.not_imported(&source.path, format!("permissions.{key}"), "Bosun has no such setting");
    }
}

/// A path that begins with one slash is relative to the settings' folder in Claude Code, and absolute in Bosun.
fn allow(survey: &mut ImportSurvey<'_>, source: &ProductFile, text: &str) {
    let found = format!("allow {text}");
    match (foreign_settings::below_top(text), source.owner) {
        (Some(_), SourceOwner::User | SourceOwner::Relocated) => {
            let why = "its path means a different folder in every project; add it with `bosun config allow RULE`";
            survey.not_imported(&source.path, found, why);
        }
        (Some(below), SourceOwner::Local | SourceOwner::Project | SourceOwner::OutsideTrust) => {
            survey.rule(source, found, RuleEffect::Allow, &below);
        }
        (None, _) => survey.rule(source, found, RuleEffect::Allow, text),
    }
}

/// Imports an ask or deny rule from a file that Bosun does not read. An ambiguous path is covered in both meanings, as
/// in a file that Bosun reads.
fn narrow(survey: &mut ImportSurvey<'_>, source: &ProductFile, found: String, effect: RuleEffect, text: &str) {
    if let Some(below) = foreign_settings::below_top(text) {
        survey.rule(source, found.clone(), effect, &below);
    }
    survey.rule(source, found, effect, text);
}

fn default_mode(survey: &mut ImportSurvey<'_>, source: &ProductFile, mode: &str) {
    let found = format!("defaultMode {mode}");
    let ours = match mode {
        "default" | "dontAsk" => PermissionMode::Default,
        "acceptEdits" => PermissionMode::AcceptEdits,
        "plan" => PermissionMode::Plan,
        "bypassPermissions" => PermissionMode::AllowAll,
        _other => {
            let why = "Bosun has no such mode; it has default, accept-edits, plan and allow-all";
            return survey.not_imported(&source.path, found, why);
        }
    };
    survey.mode(source, found, ours);
}

fn variables(survey: &mut ImportSurvey<'_>, source: &ProductFile, env: &JsonTable) {
    for (name, value) in env {
        let own = ITS_OWN.iter().any(|start| name.starts_with(start));
        match value {
            Value::String(_) if own => {
                let why = "it is for Claude Code itself; keys and addresses of providers are read from the environment";
                survey.not_imported(&source.path, format!("env {name}"), why);
            }
            Value::String(value) => survey.variable(source, name, value),
            _other => {
                let at = source.line(name).map(|line| format!("line {line}: ")).unwrap_or_default();
                let why = format!("{at}its value must be a string; correct or remove it");
                survey.invalid(&source.path, format!("env {name}"), why);
            }
        }
    }
}

/// Imports the program's state file, of which only the MCP servers and this project's part matter.
fn state(survey: &mut ImportSurvey<'_>, path: &Path, top: &Path) {
    let Some(source) = ProductFile::read(survey, path.to_owned(), SourceOwner::Local) else { return };
    let Some(table) = source.json(survey) else { return };
    if let Some(servers) = values::table(survey, &source, &table, "mcpServers").filter(|servers| !servers.is_empty()) {
        survey.not_imported(path, format!("MCP servers: {}", values::names(servers)), NO_SERVERS);
    }
    let projects = values::table(survey, &source, &table, "projects");
    let Some(Value::Object(here)) = projects.and_then(|projects| projects.get(top.to_str()?)) else { return };
    for text in values::texts(survey, &source, here, "allowedTools") {
        allow(survey, &source, text);
    }
    if let Some(servers) = values::table(survey, &source, here, "mcpServers").filter(|servers| !servers.is_empty()) {
        survey.not_imported(path, format!("MCP servers: {}", values::names(servers)), NO_SERVERS);
    }
}

/// Reports the MCP servers in a file.
pub(super) fn servers(survey: &mut ImportSurvey<'_>, path: &Path) {
    let Some(source) = ProductFile::read(survey, path.to_owned(), SourceOwner::OutsideTrust) else { return };
    let Some(table) = source.json(survey) else { return };
    let key = if table.contains_key("servers") { "servers" } else { "mcpServers" };
    if let Some(servers) = values::table(survey, &source, &table, key) {
        survey.not_imported(path, format!("MCP servers: {}", values::names(servers)), NO_SERVERS);
    }
}
