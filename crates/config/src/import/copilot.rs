//! Imports the files of GitHub Copilot CLI.

use std::path::{Path, PathBuf};

use protocol::RuleEffect;
use serde_json::Value;

use super::claude::servers;
use super::paths::{CopiedPath, ReadInPlacePath, SKILL, SkippedPath, TrustRequirement, read_in_place, report_skipped};
use super::product_file::{JsonTable, ProductFile, SourceOwner};
use super::product_folder::ProductFolder;
use super::survey::ImportSurvey;
use super::values::{self, NO_SESSIONS};

const OF_USER: [ReadInPlacePath; 4] = [
    ReadInPlacePath("copilot-instructions.md", "instructions", ""),
    ReadInPlacePath("agents", "agents", ".md"),
    ReadInPlacePath("skills", "skills", SKILL),
    ReadInPlacePath("hooks", "hooks", ".json"),
];

/// The same paths, for a folder that Bosun does not read in place.
const COPIED: [CopiedPath; 4] = [
    CopiedPath("copilot-instructions.md", "AGENTS.md", "instructions", ""),
    CopiedPath("agents", "agents", "agent", ".md"),
    CopiedPath("skills", "skills", "skill", SKILL),
    CopiedPath("hooks", "hooks", "hooks", ".json"),
];

const INSTRUCTIONS: [ReadInPlacePath; 3] = [
    ReadInPlacePath("AGENTS.md", "instructions", ""),
    ReadInPlacePath(".github/copilot-instructions.md", "instructions", ""),
    ReadInPlacePath(".github/instructions", "instructions", ".instructions.md"),
];

const OF_PROJECT: [ReadInPlacePath; 4] = [
    ReadInPlacePath(".github/agents", "agents", ".md"),
    ReadInPlacePath(".github/prompts", "slash commands", ".prompt.md"),
    ReadInPlacePath(".github/skills", "skills", SKILL),
    ReadInPlacePath(".github/hooks", "hooks", ".json"),
];

const NOT_OF_USER: [SkippedPath; 4] = [
    SkippedPath(
        "installed-plugins",
        "plugins",
        "name the folder of a plugin with --plugin-dir, or put it into `plugins` of Bosun's home",
    ),
    SkippedPath("extensions", "extensions", "Bosun has none"),
    SkippedPath("session-state", "sessions", NO_SESSIONS),
    SkippedPath(
        "session-store.db",
        "sessions and memory",
        "sessions and memories of other products cannot be imported yet",
    ),
];

const NOT_OF_PROJECT: [SkippedPath; 1] = [SkippedPath(
    ".github/chatmodes",
    "chat modes",
    "Bosun reads agents: rename NAME.chatmode.md to .github/agents/NAME.agent.md",
)];

/// Scans all files of Copilot.
pub(super) fn scan(survey: &mut ImportSurvey<'_>) {
    let top = survey.places.project.top.clone();
    if let Some(own) = ProductFolder::of(survey, ".copilot") {
        settings(survey, own.join("settings.json"), own.owner);
        settings(survey, own.join("config.json"), own.owner);
        approvals(survey, &own.join("permissions-config.json"), &top);
        servers(survey, &own.join("mcp-config.json"));
        own.read_or_copy(survey, &OF_USER, &COPIED);
        own.report_skipped(survey, &NOT_OF_USER);
    }
    settings(survey, top.join(".github/copilot/settings.json"), SourceOwner::OutsideTrust);
    settings(survey, top.join(".github/copilot/settings.local.json"), SourceOwner::OutsideTrust);
    read_in_place(survey, &top, TrustRequirement::Nothing, &INSTRUCTIONS);
    read_in_place(survey, &top, TrustRequirement::Trust, &OF_PROJECT);
    servers(survey, &top.join(".vscode/mcp.json"));
    report_skipped(survey, &top, &NOT_OF_PROJECT);
}

fn settings(survey: &mut ImportSurvey<'_>, path: PathBuf, owner: SourceOwner) {
    ProductFile::walk(survey, path, owner, &[], setting);
}

fn setting(survey: &mut ImportSurvey<'_>, source: &ProductFile, table: &JsonTable, key: &str) {
    match key {
        "model" => {
            if let Some(name) = values::text(survey, source, table, key) {
                survey.foreign_model(source, name);
            }
        }
        "effortLevel" | "reasoningEffort" | "reasoning_effort" => {
            if let Some(effort) = values::text(survey, source, table, key) {
                survey.effort(source, format!("{key} {effort}"), effort);
            }
        }
        "allowedUrls" | "allowed_urls" => urls(survey, source, table, key, RuleEffect::Allow),
        "deniedUrls" | "denied_urls" => urls(survey, source, table, key, RuleEffect::Deny),
        "trustedFolders" | "trusted_folders" => {
            let why = "Bosun trusts a project's files as they are, not its folder; run `bosun trust` in each";
            survey.not_imported(&source.path, key, why);
        }
        "hooks" => {
            let why = "Bosun reads hooks from ~/.copilot/hooks and .github/hooks; put them into a file there";
            survey.not_imported(&source.path, key, why);
        }
        other => survey.not_imported(&source.path, other, "Bosun has no such setting"),
    }
}

/// Imports address rules. Bosun's rules match whole hosts, so an allow rule with a path would allow too much.
fn urls(survey: &mut ImportSurvey<'_>, source: &ProductFile, table: &JsonTable, key: &str, effect: RuleEffect) {
    for text in values::texts(survey, source, table, key) {
        let bare = text.split_once("://").map_or(text, |(_, bare)| bare).trim_end_matches('/');
        let found = format!("{} url {text}", effect.as_str());
        match (bare.split_once('/'), effect) {
            (None, _) => survey.rule(source, found, effect, &format!("fetch({bare})")),
            (Some((host, _)), RuleEffect::Ask | RuleEffect::Deny) => {
                survey.rule(source, found, effect, &format!("fetch({host})"));
            }
            (Some(_), RuleEffect::Allow) => {
                survey.not_imported(&source.path, found, "Bosun's rules match whole hosts, not parts of one");
            }
        }
    }
}

/// Imports the user's permanent approvals in this project.
fn approvals(survey: &mut ImportSurvey<'_>, path: &Path, top: &Path) {
    let Some(source) = ProductFile::read(survey, path.to_owned(), SourceOwner::Local) else { return };
    let Some(table) = source.json(survey) else { return };
    let locations = values::table(survey, &source, &table, "locations");
    let Some(Value::Object(here)) = locations.and_then(|all| all.get(top.to_str()?)) else { return };
    for folder in values::texts(survey, &source, here, "allowed_directories") {
        survey.folder(&source, folder);
    }
    let approvals = here.get("tool_approvals").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for approval in approvals.iter().filter_map(Value::as_object) {
        approved(survey, &source, approval);
    }
}

fn approved(survey: &mut ImportSurvey<'_>, source: &ProductFile, approval: &JsonTable) {
    let field = |key: &str| approval.get(key).and_then(Value::as_str);
    let kind = field("kind").unwrap_or_default();
    let found = format!("approval {kind}");
    match kind {
        "commands" => {
            for command in values::texts(survey, source, approval, "commandIdentifiers") {
                let command = command.strip_suffix(":*").unwrap_or(command);
                survey.rule(source, format!("approval {command}"), RuleEffect::Allow, &format!("shell({command} *)"));
            }
        }
        "write" => survey.rule(source, found, RuleEffect::Allow, "edit"),
        "read" => survey.rule(source, found, RuleEffect::Allow, "read"),
        "mcp" => match field("serverName") {
            Some(server) => {
                let rule = format!("mcp__{server}__{}", field("toolName").unwrap_or("*"));
                survey.rule(source, format!("{found} {server}"), RuleEffect::Allow, &rule);
            }
            None => survey.invalid(&source.path, found, "it names no server; remove it".into()),
        },
        _other => survey.not_imported(&source.path, found, "Bosun does not ask about this"),
    }
}
