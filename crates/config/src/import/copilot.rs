//! The files of GitHub Copilot CLI.

use std::path::{Path, PathBuf};

use protocol::RuleEffect;
use serde_json::Value;

use super::claude::servers;
use super::own_folder::OwnFolder;
use super::paths::{Copied, InPlace, Left, Needs, SKILL, left, read_in_place};
use super::source::{Owner, Source, Table};
use super::survey::Survey;
use super::values::{self, NO_SESSIONS};

const OF_USER: [InPlace; 4] = [
    InPlace("copilot-instructions.md", "instructions", ""),
    InPlace("agents", "agents", ".md"),
    InPlace("skills", "skills", SKILL),
    InPlace("hooks", "hooks", ".json"),
];

/// The same where Bosun does not read it.
const COPIED: [Copied; 4] = [
    Copied("copilot-instructions.md", "AGENTS.md", "instructions", ""),
    Copied("agents", "agents", "agent", ".md"),
    Copied("skills", "skills", "skill", SKILL),
    Copied("hooks", "hooks", "hooks", ".json"),
];

const INSTRUCTIONS: [InPlace; 3] = [
    InPlace("AGENTS.md", "instructions", ""),
    InPlace(".github/copilot-instructions.md", "instructions", ""),
    InPlace(".github/instructions", "instructions", ".instructions.md"),
];

const OF_PROJECT: [InPlace; 4] = [
    InPlace(".github/agents", "agents", ".md"),
    InPlace(".github/prompts", "slash commands", ".prompt.md"),
    InPlace(".github/skills", "skills", SKILL),
    InPlace(".github/hooks", "hooks", ".json"),
];

const NOT_OF_USER: [Left; 4] = [
    Left(
        "installed-plugins",
        "plugins",
        "name the folder of a plugin with --plugin-dir, or put it into `plugins` of Bosun's home",
    ),
    Left("extensions", "extensions", "Bosun has none"),
    Left("session-state", "sessions", NO_SESSIONS),
    Left("session-store.db", "sessions and memory", "sessions and memories of other products cannot be imported yet"),
];

const NOT_OF_PROJECT: [Left; 1] = [Left(
    ".github/chatmodes",
    "chat modes",
    "Bosun reads agents: rename NAME.chatmode.md to .github/agents/NAME.agent.md",
)];

/// Looks at everything of Copilot.
pub(super) fn look(survey: &mut Survey<'_>) {
    let top = survey.places.project.top.clone();
    if let Some(own) = OwnFolder::of(survey, ".copilot") {
        settings(survey, own.join("settings.json"), own.owner);
        settings(survey, own.join("config.json"), own.owner);
        approvals(survey, &own.join("permissions-config.json"), &top);
        servers(survey, &own.join("mcp-config.json"));
        own.read_or_copy(survey, &OF_USER, &COPIED);
        own.left(survey, &NOT_OF_USER);
    }
    settings(survey, top.join(".github/copilot/settings.json"), Owner::Uncovered);
    settings(survey, top.join(".github/copilot/settings.local.json"), Owner::Uncovered);
    read_in_place(survey, &top, Needs::Nothing, &INSTRUCTIONS);
    read_in_place(survey, &top, Needs::Trust, &OF_PROJECT);
    servers(survey, &top.join(".vscode/mcp.json"));
    left(survey, &top, &NOT_OF_PROJECT);
}

fn settings(survey: &mut Survey<'_>, path: PathBuf, owner: Owner) {
    Source::walk(survey, path, owner, &[], setting);
}

fn setting(survey: &mut Survey<'_>, source: &Source, table: &Table, key: &str) {
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
            let why = "Bosun trusts the files of a project as they are, not a folder; `bosun trust` in each";
            survey.not_imported(&source.path, key, why);
        }
        "hooks" => {
            let why = "Bosun reads hooks from ~/.copilot/hooks and .github/hooks; put them into a file there";
            survey.not_imported(&source.path, key, why);
        }
        other => survey.not_imported(&source.path, other, "Bosun has no such setting"),
    }
}

/// Addresses: Bosun has rules for hosts, so one with a path is not imported to allow more than it says.
fn urls(survey: &mut Survey<'_>, source: &Source, table: &Table, key: &str, effect: RuleEffect) {
    for text in values::texts(survey, source, table, key) {
        let bare = text.split_once("://").map_or(text, |(_, bare)| bare).trim_end_matches('/');
        let found = format!("{} url {text}", effect.word());
        match (bare.split_once('/'), effect) {
            (None, _) => survey.rule(source, found, effect, &format!("fetch({bare})")),
            (Some((host, _)), RuleEffect::Ask | RuleEffect::Deny) => {
                survey.rule(source, found, effect, &format!("fetch({host})"));
            }
            (Some(_), RuleEffect::Allow) => {
                survey.not_imported(&source.path, found, "Bosun's rules are about hosts, and this is a part of one");
            }
        }
    }
}

/// What the user approved for good in this project.
fn approvals(survey: &mut Survey<'_>, path: &Path, top: &Path) {
    let Some(source) = Source::read(survey, path.to_owned(), Owner::Local) else { return };
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

fn approved(survey: &mut Survey<'_>, source: &Source, approval: &Table) {
    let said = |key: &str| approval.get(key).and_then(Value::as_str);
    let kind = said("kind").unwrap_or_default();
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
        "mcp" => match said("serverName") {
            Some(server) => {
                let rule = format!("mcp__{server}__{}", said("toolName").unwrap_or("*"));
                survey.rule(source, format!("{found} {server}"), RuleEffect::Allow, &rule);
            }
            None => survey.invalid(&source.path, found, "it names no server; remove it".into()),
        },
        _other => survey.not_imported(&source.path, found, "Bosun does not ask about this"),
    }
}
