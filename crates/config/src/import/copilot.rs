//! Imports the files of GitHub Copilot CLI.

use std::path::{Path, PathBuf};

use protocol::RuleEffect;
use serde_json::Value;

use super::claude::report_servers;
use super::paths::{CopiedPath, ReadInPlacePath, SKILL, SkippedPath, TrustRequirement, read_in_place, report_skipped};
use super::product_file::{JsonTable, ProductFile, SourceOwner};
use super::product_folder::ProductFolder;
use super::survey::ImportSurvey;
use super::values::{self, NO_SESSIONS};

const USER_PATHS: [ReadInPlacePath; 4] = [
    ReadInPlacePath("copilot-instructions.md", "instructions", ""),
    ReadInPlacePath("agents", "agents", ".md"),
    ReadInPlacePath("skills", "skills", SKILL),
    ReadInPlacePath("hooks", "hooks", ".json"),
];

/// The same paths, for a folder that Bosun does not read in place.
const COPIED_PATHS: [CopiedPath; 4] = [
    CopiedPath("copilot-instructions.md", "AGENTS.md", "instructions", ""),
    CopiedPath("agents", "agents", "agent", ".md"),
    CopiedPath("skills", "skills", "skill", SKILL),
    CopiedPath("hooks", "hooks", "hooks", ".json"),
];

const INSTRUCTION_PATHS: [ReadInPlacePath; 3] = [
    ReadInPlacePath("AGENTS.md", "instructions", ""),
    ReadInPlacePath(".github/copilot-instructions.md", "instructions", ""),
    ReadInPlacePath(".github/instructions", "instructions", ".instructions.md"),
];

const PROJECT_PATHS: [ReadInPlacePath; 4] = [
    ReadInPlacePath(".github/agents", "agents", ".md"),
    ReadInPlacePath(".github/prompts", "slash commands", ".prompt.md"),
    ReadInPlacePath(".github/skills", "skills", SKILL),
    ReadInPlacePath(".github/hooks", "hooks", ".json"),
];

const SKIPPED_USER_PATHS: [SkippedPath; 4] = [
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

const SKIPPED_PROJECT_PATHS: [SkippedPath; 1] = [SkippedPath(
    ".github/chatmodes",
    "chat modes",
    "Bosun reads agents: rename NAME.chatmode.md to .github/agents/NAME.agent.md",
)];

/// Scans all files of Copilot.
pub(super) fn scan(survey: &mut ImportSurvey<'_>) {
    let top = survey.places.project.dir.clone();
    if let Some(own) = ProductFolder::find(survey, ".copilot") {
        scan_settings(survey, own.join("settings.json"), own.owner);
        scan_settings(survey, own.join("config.json"), own.owner);
        import_approvals(survey, &own.join("permissions-config.json"), &top);
        report_servers(survey, &own.join("mcp-config.json"));
        own.read_or_copy(survey, &USER_PATHS, &COPIED_PATHS);
        own.report_skipped(survey, &SKIPPED_USER_PATHS);
    }
    scan_settings(survey, top.join(".github/copilot/settings.json"), SourceOwner::OutsideTrust);
    scan_settings(survey, top.join(".github/copilot/settings.local.json"), SourceOwner::OutsideTrust);
    read_in_place(survey, &top, TrustRequirement::NotRequired, &INSTRUCTION_PATHS);
    read_in_place(survey, &top, TrustRequirement::Trust, &PROJECT_PATHS);
    report_servers(survey, &top.join(".vscode/mcp.json"));
    report_skipped(survey, &top, &SKIPPED_PROJECT_PATHS);
}

fn scan_settings(survey: &mut ImportSurvey<'_>, path: PathBuf, owner: SourceOwner) {
    ProductFile::for_each_key(survey, path, owner, &[], import_setting);
}

fn import_setting(survey: &mut ImportSurvey<'_>, source: &ProductFile, table: &JsonTable, key: &str) {
    match key {
        "model" => {
            if let Some(name) = values::string_value(survey, source, table, key) {
                survey.import_foreign_model(source, name);
            }
        }
        "effortLevel" | "reasoningEffort" | "reasoning_effort" => {
            if let Some(effort) = values::string_value(survey, source, table, key) {
                survey.import_effort(source, format!("{key} {effort}"), effort);
            }
        }
        "allowedUrls" | "allowed_urls" => import_urls(survey, source, table, key, RuleEffect::Allow),
        "deniedUrls" | "denied_urls" => import_urls(survey, source, table, key, RuleEffect::Deny),
        "trustedFolders" | "trusted_folders" => {
            let why = "Bosun trusts a project's files as they are, not its folder; run `bosun trust` in each";
            survey.report_not_imported(&source.path, key, why);
        }
        "hooks" => {
            let why = "Bosun reads hooks from ~/.copilot/hooks and .github/hooks; put them into a file there";
            survey.report_not_imported(&source.path, key, why);
        }
        other => survey.report_not_imported(&source.path, other, "Bosun has no such setting"),
    }
}

/// Imports address rules. Bosun's rules match whole hosts, so an allow rule with a path would allow too much.
fn import_urls(survey: &mut ImportSurvey<'_>, source: &ProductFile, table: &JsonTable, key: &str, effect: RuleEffect) {
    for text in values::string_list(survey, source, table, key) {
        let without_scheme =
            text.split_once("://").map_or(text, |(_, without_scheme)| without_scheme).trim_end_matches('/');
        let subject = format!("{} url {text}", effect.as_str());
        match (without_scheme.split_once('/'), effect) {
            (None, _) => survey.import_rule(source, subject, effect, &format!("fetch({without_scheme})")),
            (Some((host, _)), RuleEffect::Ask | RuleEffect::Deny) => {
                survey.import_rule(source, subject, effect, &format!("fetch({host})"));
            }
            (Some(_), RuleEffect::Allow) => {
                survey.report_not_imported(&source.path, subject, "Bosun's rules match whole hosts, not parts of one");
            }
        }
    }
}

/// Imports the user's permanent approvals in this project.
fn import_approvals(survey: &mut ImportSurvey<'_>, path: &Path, top: &Path) {
    let Some(source) = ProductFile::read(survey, path.to_owned(), SourceOwner::Local) else { return };
    let Some(table) = source.json(survey) else { return };
    let locations = values::table_value(survey, &source, &table, "locations");
    let Some(Value::Object(here)) = locations.and_then(|all| all.get(top.to_str()?)) else { return };
    for folder in values::string_list(survey, &source, here, "allowed_directories") {
        survey.import_folder(&source, folder);
    }
    let approvals = here.get("tool_approvals").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for approval in approvals.iter().filter_map(Value::as_object) {
        import_approval(survey, &source, approval);
    }
}

fn import_approval(survey: &mut ImportSurvey<'_>, source: &ProductFile, approval: &JsonTable) {
    let field = |key: &str| approval.get(key).and_then(Value::as_str);
    let kind = field("kind").unwrap_or_default();
    let subject = format!("approval {kind}");
    match kind {
        "commands" => {
            for command in values::string_list(survey, source, approval, "commandIdentifiers") {
                let command = command.strip_suffix(":*").unwrap_or(command);
                survey.import_rule(
                    source,
                    format!("approval {command}"),
                    RuleEffect::Allow,
                    &format!("shell({command} *)"),
                );
            }
        }
        "write" => survey.import_rule(source, subject, RuleEffect::Allow, "edit"),
        "read" => survey.import_rule(source, subject, RuleEffect::Allow, "read"),
        "mcp" => match field("serverName") {
            Some(server) => {
                let rule = format!("mcp__{server}__{}", field("toolName").unwrap_or("*"));
                survey.import_rule(source, format!("{subject} {server}"), RuleEffect::Allow, &rule);
            }
            None => survey.report_invalid(&source.path, subject, "it names no server; remove it".into()),
        },
        _other => survey.report_not_imported(&source.path, subject, "Bosun does not ask about this"),
    }
}
