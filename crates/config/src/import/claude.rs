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

const USER_PATHS: [ReadInPlacePath; 4] = [
    ReadInPlacePath("CLAUDE.md", "instructions", ""),
    ReadInPlacePath("agents", "agents", ".md"),
    ReadInPlacePath("commands", "slash commands", ".md"),
    ReadInPlacePath("skills", "skills", SKILL),
];

/// The same paths, for a folder that Bosun does not read in place.
const COPIED_PATHS: [CopiedPath; 4] = [
    CopiedPath("CLAUDE.md", "AGENTS.md", "instructions", ""),
    CopiedPath("agents", "agents", "agent", ".md"),
    CopiedPath("commands", "commands", "slash command", ".md"),
    CopiedPath("skills", "skills", "skill", SKILL),
];

const INSTRUCTION_PATHS: [ReadInPlacePath; 4] = [
    ReadInPlacePath("CLAUDE.md", "instructions", ""),
    ReadInPlacePath(".claude/CLAUDE.md", "instructions", ""),
    ReadInPlacePath("CLAUDE.local.md", "instructions", ""),
    ReadInPlacePath(".claude/rules", "instructions", ".md"),
];

const PROJECT_PATHS: [ReadInPlacePath; 3] = [
    ReadInPlacePath(".claude/agents", "agents", ".md"),
    ReadInPlacePath(".claude/commands", "slash commands", ".md"),
    ReadInPlacePath(".claude/skills", "skills", SKILL),
];

const SKIPPED_USER_PATHS: [SkippedPath; 5] = [
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

const SKIPPED_PROJECT_PATHS: [SkippedPath; 2] = [
    SkippedPath(".claude/output-styles", "output styles", "Bosun has none; describe the style in CLAUDE.md"),
    SkippedPath(".claude/agent-memory", "memory", NO_MEMORY),
];

/// Keys that Bosun reads in place.
const KEYS_READ_IN_PLACE: [&str; 2] = ["hooks", "disableAllHooks"];

/// Keys without an effect.
const HARMLESS_KEYS: [&str; 1] = ["$schema"];

/// Prefixes of variables that are for Claude Code itself.
const PRODUCT_VARIABLE_PREFIXES: [&str; 5] = ["CLAUDE_", "ANTHROPIC_", "DISABLE_", "MCP_", "BASH_"];

/// Scans all files of Claude Code.
pub(super) fn scan(survey: &mut ImportSurvey<'_>) {
    let top = survey.places.project.dir.clone();
    if let Some(own) = ProductFolder::find(survey, ".claude") {
        scan_settings(survey, own.join("settings.json"), own.owner);
        // A relocated folder has this file inside it.
        let state_file = match (own.owner, survey.places.user_home) {
            (SourceOwner::User, Some(user)) => user.join(".claude.json"),
            (_, _) => own.join(".claude.json"),
        };
        import_state_file(survey, &state_file, &top);
        own.read_or_copy(survey, &USER_PATHS, &COPIED_PATHS);
        own.report_skipped(survey, &SKIPPED_USER_PATHS);
    }
    // In the user's home folder, the project's files are the user's own.
    if survey.places.user_home != Some(&top) {
        scan_settings(survey, top.join(".claude/settings.json"), SourceOwner::Project);
        scan_settings(survey, top.join(".claude/settings.local.json"), SourceOwner::Project);
        read_in_place(survey, &top, TrustRequirement::NotRequired, &INSTRUCTION_PATHS);
        read_in_place(survey, &top, TrustRequirement::Trust, &PROJECT_PATHS);
        report_skipped(survey, &top, &SKIPPED_PROJECT_PATHS);
    }
}

fn scan_settings(survey: &mut ImportSurvey<'_>, path: PathBuf, owner: SourceOwner) {
    ProductFile::for_each_key(survey, path, owner, &["permissions", "model", "effortLevel", "env"], import_setting);
}

fn import_setting(survey: &mut ImportSurvey<'_>, source: &ProductFile, table: &JsonTable, key: &str) {
    match key {
        "permissions" => {
            if let Some(permissions) = values::table_value(survey, source, table, key) {
                import_rules(survey, source, permissions);
            }
        }
        "model" => {
            if let Some(name) = values::string_value(survey, source, table, key) {
                survey.import_foreign_model(source, name);
            }
        }
        "effortLevel" => {
            if let Some(effort) = values::string_value(survey, source, table, key) {
                survey.import_effort(source, format!("{key} {effort}"), effort);
            }
        }
        "env" => {
            if let Some(env) = values::table_value(survey, source, table, key) {
                import_variables(survey, source, env);
            }
        }
        read if KEYS_READ_IN_PLACE.contains(&read) => match source.owner {
            SourceOwner::Relocated => {
                let why = "Bosun reads hooks from ~/.claude/settings.json, not from a relocated folder; put them \
                           there, or into `hooks` of Bosun's home";
                survey.report_not_imported(&source.path, read, why);
            }
            SourceOwner::User | SourceOwner::Local | SourceOwner::Project | SourceOwner::OutsideTrust => {
                survey.report_setting_in_place(source, read)
            }
        },
        harmless if HARMLESS_KEYS.contains(&harmless) => {}
        other => survey.report_not_imported(&source.path, other, unsupported_reason(other)),
    }
}

fn unsupported_reason(key: &str) -> &'static str {
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

fn import_rules(survey: &mut ImportSurvey<'_>, source: &ProductFile, permissions: &JsonTable) {
    for text in values::string_list(survey, source, permissions, "allow") {
        import_allow_rule(survey, source, text);
    }
    for effect in [RuleEffect::Ask, RuleEffect::Deny] {
        let texts = values::string_list(survey, source, permissions, effect.as_str());
        for text in texts {
            let subject = format!("{} {text}", effect.as_str());
            match source.owner {
                SourceOwner::Relocated => import_restriction(survey, source, subject, effect, text),
                SourceOwner::User | SourceOwner::Local | SourceOwner::Project | SourceOwner::OutsideTrust => {
                    survey.report_setting_in_place(source, subject)
                }
            }
        }
    }
    if let Some(mode) = values::string_value(survey, source, permissions, "defaultMode") {
        import_mode(survey, source, mode);
    }
    for folder in values::string_list(survey, source, permissions, "additionalDirectories") {
        survey.import_folder(source, folder);
    }
    let known = ["allow", "ask", "deny", "defaultMode", "additionalDirectories"];
    for key in permissions.keys().filter(|key| !known.contains(&key.as_str())) {
        survey.report_not_imported(&source.path, format!("permissions.{key}"), "Bosun has no such setting");
    }
}

/// A path that begins with one slash is relative to the settings' folder in Claude Code, and absolute in Bosun.
fn import_allow_rule(survey: &mut ImportSurvey<'_>, source: &ProductFile, text: &str) {
    let subject = format!("allow {text}");
    match (foreign_settings::to_project_rule(text), source.owner) {
        (Some(_), SourceOwner::User | SourceOwner::Relocated) => {
            let why = "its path means a different folder in every project; add it with `bosun config allow RULE`";
            survey.report_not_imported(&source.path, subject, why);
        }
        (Some(below), SourceOwner::Local | SourceOwner::Project | SourceOwner::OutsideTrust) => {
            survey.import_rule(source, subject, RuleEffect::Allow, &below);
        }
        (None, _) => survey.import_rule(source, subject, RuleEffect::Allow, text),
    }
}

/// Imports an ask or deny rule from a file that Bosun does not read. An ambiguous path is covered in both meanings, as
/// in a file that Bosun reads.
fn import_restriction(
    survey: &mut ImportSurvey<'_>,
    source: &ProductFile,
    subject: String,
    effect: RuleEffect,
    text: &str,
) {
    if let Some(below) = foreign_settings::to_project_rule(text) {
        survey.import_rule(source, subject.clone(), effect, &below);
    }
    survey.import_rule(source, subject, effect, text);
}

fn import_mode(survey: &mut ImportSurvey<'_>, source: &ProductFile, mode: &str) {
    let subject = format!("defaultMode {mode}");
    let ours = match mode {
        "default" | "dontAsk" => PermissionMode::Default,
        "acceptEdits" => PermissionMode::AcceptEdits,
        "plan" => PermissionMode::Plan,
        "bypassPermissions" => PermissionMode::AllowAll,
        _other => {
            let why = "Bosun has no such mode; it has default, accept-edits, plan and allow-all";
            return survey.report_not_imported(&source.path, subject, why);
        }
    };
    survey.import_mode(source, subject, ours);
}

fn import_variables(survey: &mut ImportSurvey<'_>, source: &ProductFile, env: &JsonTable) {
    for (name, value) in env {
        let own = PRODUCT_VARIABLE_PREFIXES.iter().any(|start| name.starts_with(start));
        match value {
            Value::String(_) if own => {
                let why = "it is for Claude Code itself; keys and addresses of providers are read from the environment";
                survey.report_not_imported(&source.path, format!("env {name}"), why);
            }
            Value::String(value) => survey.import_variable(source, name, value),
            _other => {
                let at = source.line_of(name).map(|line| format!("line {line}: ")).unwrap_or_default();
                let why = format!("{at}its value must be a string; correct or remove it");
                survey.report_invalid(&source.path, format!("env {name}"), why);
            }
        }
    }
}

/// Imports the program's state file, of which only the MCP servers and this project's part matter.
fn import_state_file(survey: &mut ImportSurvey<'_>, path: &Path, top: &Path) {
    let Some(source) = ProductFile::read(survey, path.to_owned(), SourceOwner::Local) else { return };
    let Some(table) = source.json(survey) else { return };
    if let Some(servers) =
        values::table_value(survey, &source, &table, "mcpServers").filter(|servers| !servers.is_empty())
    {
        survey.report_not_imported(path, format!("MCP servers: {}", values::key_names(servers)), NO_SERVERS);
    }
    let projects = values::table_value(survey, &source, &table, "projects");
    let Some(Value::Object(here)) = projects.and_then(|projects| projects.get(top.to_str()?)) else { return };
    for text in values::string_list(survey, &source, here, "allowedTools") {
        import_allow_rule(survey, &source, text);
    }
    if let Some(servers) =
        values::table_value(survey, &source, here, "mcpServers").filter(|servers| !servers.is_empty())
    {
        survey.report_not_imported(path, format!("MCP servers: {}", values::key_names(servers)), NO_SERVERS);
    }
}

/// Reports the MCP servers in a file.
pub(super) fn report_servers(survey: &mut ImportSurvey<'_>, path: &Path) {
    let Some(source) = ProductFile::read(survey, path.to_owned(), SourceOwner::OutsideTrust) else { return };
    let Some(table) = source.json(survey) else { return };
    let key = if table.contains_key("servers") { "servers" } else { "mcpServers" };
    if let Some(servers) = values::table_value(survey, &source, &table, key) {
        survey.report_not_imported(path, format!("MCP servers: {}", values::key_names(servers)), NO_SERVERS);
    }
}
