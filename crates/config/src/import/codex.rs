//! Imports the files of Codex CLI.

use std::path::Path;

use protocol::{PermissionMode, RuleEffect};
use serde_json::Value;

use super::paths::{
    CopiedPath, ReadInPlacePath, SKILL, SkippedPath, TrustRequirement, copy, entries, read_in_place, report_skipped,
};
use super::prefix_rules::{self, PrefixRule};
use super::product_file::{JsonTable, ProductFile, SourceOwner};
use super::product_folder::ProductFolder;
use super::survey::ImportSurvey;
use super::values::{self, NO_MEMORY, NO_SERVERS, NO_SESSIONS};

const INSTRUCTIONS: [ReadInPlacePath; 1] = [ReadInPlacePath("AGENTS.md", "instructions", "")];

const SKILLS: [ReadInPlacePath; 1] = [ReadInPlacePath(".agents/skills", "skills", SKILL)];

/// Files that Bosun can use but does not read in place.
const COPIED: [CopiedPath; 3] = [
    CopiedPath("AGENTS.md", "AGENTS.md", "instructions", ""),
    CopiedPath("prompts", "commands", "slash command", ".md"),
    CopiedPath("skills", "skills", "skill", SKILL),
];

const NOT_OF_USER: [SkippedPath; 4] = [
    SkippedPath("AGENTS.override.md", "instructions", "Bosun reads AGENTS.md; put the text there"),
    SkippedPath("sessions", "sessions", NO_SESSIONS),
    SkippedPath("history.jsonl", "sessions", NO_SESSIONS),
    SkippedPath("memories", "memory", NO_MEMORY),
];

const NOT_OF_PROJECT: [SkippedPath; 2] = [
    SkippedPath("AGENTS.override.md", "instructions", "Bosun reads AGENTS.md; put the text there"),
    SkippedPath(".codex/agents", "agents", "Bosun reads agents in Markdown; write them into .bosun/agents"),
];

/// Scans all files of Codex.
pub(super) fn scan(survey: &mut ImportSurvey<'_>) {
    let top = survey.places.project.top.clone();
    if let Some(own) = ProductFolder::of(survey, ".codex") {
        settings(survey, &own.join("config.toml"), own.owner);
        rules(survey, &own.join("rules"), own.owner);
        copy(survey, &own.path, &COPIED);
        if let Some(user) = survey.places.user {
            read_in_place(survey, user, TrustRequirement::Nothing, &SKILLS);
        }
        own.report_skipped(survey, &NOT_OF_USER);
    }
    // In the user's home folder, the project's files are the user's own.
    if survey.places.user != Some(&top) {
        settings(survey, &top.join(".codex/config.toml"), SourceOwner::OutsideTrust);
        rules(survey, &top.join(".codex/rules"), SourceOwner::OutsideTrust);
        read_in_place(survey, &top, TrustRequirement::Trust, &SKILLS);
    }
    read_in_place(survey, &top, TrustRequirement::Nothing, &INSTRUCTIONS);
    report_skipped(survey, &top, &NOT_OF_PROJECT);
}

fn settings(survey: &mut ImportSurvey<'_>, path: &Path, owner: SourceOwner) {
    let Some(source) = ProductFile::read(survey, path.to_owned(), owner) else { return };
    let Some(table) = source.toml(survey) else { return };
    model(survey, &source, &table);
    mode(survey, &source, &table);
    for key in table.keys() {
        setting(survey, &source, &table, key);
    }
}

fn setting(survey: &mut ImportSurvey<'_>, source: &ProductFile, table: &JsonTable, key: &str) {
    match key {
        "model" | "model_provider" | "approval_policy" | "sandbox_mode" => {}
        "model_reasoning_effort" => {
            if let Some(effort) = values::text(survey, source, table, key) {
                survey.effort(source, format!("{key} {effort}"), effort);
            }
        }
        "sandbox_workspace_write" => {
            let Some(sandbox) = values::table(survey, source, table, key) else { return };
            for folder in values::texts(survey, source, sandbox, "writable_roots") {
                survey.folder(source, folder);
            }
            for other in sandbox.keys().filter(|other| *other != "writable_roots") {
                survey.not_imported(&source.path, format!("{key}.{other}"), "Bosun has no sandbox");
            }
        }
        "shell_environment_policy" => {
            if let Some(policy) = values::table(survey, source, table, key) {
                variables(survey, source, policy);
            }
        }
        "mcp_servers" => {
            if let Some(servers) = values::table(survey, source, table, key) {
                survey.not_imported(&source.path, format!("MCP servers: {}", values::names(servers)), NO_SERVERS);
            }
        }
        "projects" => {
            let why = "Bosun trusts a project's files as they are, not its folder; run `bosun trust` in each";
            survey.not_imported(&source.path, key, why);
        }
        "profiles" => survey.not_imported(&source.path, key, "Bosun has none; use --settings FILE for other settings"),
        "model_providers" => {
            survey.not_imported(&source.path, key, "describe each under [providers] in config.toml; docs/providers.md");
        }
        other => survey.not_imported(&source.path, other, "Bosun has no such setting"),
    }
}

fn model(survey: &mut ImportSurvey<'_>, source: &ProductFile, table: &JsonTable) {
    let provider = values::text(survey, source, table, "model_provider").unwrap_or("openai");
    let Some(name) = values::text(survey, source, table, "model") else { return };
    let found = format!("model {name}");
    match provider {
        "openai" => match values::model(name) {
            Ok(model) => survey.model(source, found, &model),
            Err(_unknown) => survey.model(source, found, &format!("openai/{name}")),
        },
        "ollama" | "oss" => survey.model(source, found, &format!("ollama/{name}")),
        other => {
            let why =
                format!("describe its provider under [providers.{other}] in config.toml, then choose {other}/{name}");
            survey.not_imported(&source.path, found, why);
        }
    }
}

/// The sandbox decides what runs without asking, and the policy what happens to the rest. Bosun has no sandbox: rules
/// decide about commands in every mode.
fn mode(survey: &mut ImportSurvey<'_>, source: &ProductFile, table: &JsonTable) {
    let sandbox = values::text(survey, source, table, "sandbox_mode");
    let policy = values::text(survey, source, table, "approval_policy");
    let entry = |key: &str, value: Option<&str>| value.map(|value| format!("{key} {value}"));
    let found: Vec<String> =
        [entry("sandbox_mode", sandbox), entry("approval_policy", policy)].into_iter().flatten().collect();
    if found.is_empty() {
        return;
    }
    let found = found.join(", ");
    match (sandbox, policy) {
        (Some("danger-full-access"), Some("never")) => survey.mode(source, found, PermissionMode::AllowAll),
        (Some("workspace-write" | "danger-full-access"), _) => survey.mode(source, found, PermissionMode::AcceptEdits),
        (Some("read-only") | None, _) => survey.mode(source, found, PermissionMode::Default),
        (Some(_other), _) => survey.not_imported(&source.path, found, "Bosun has no such sandbox mode"),
    }
}

fn variables(survey: &mut ImportSurvey<'_>, source: &ProductFile, policy: &JsonTable) {
    for pattern in values::texts(survey, source, policy, "exclude") {
        let found = format!("env exclude {pattern}");
        match pattern.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '*')) && !pattern.is_empty() {
            true => survey.hidden(source, found, pattern),
            false => survey.not_imported(&source.path, found, "Bosun's patterns are names with `*`"),
        }
    }
    let set = values::table(survey, source, policy, "set");
    for (name, value) in set.into_iter().flatten() {
        match value {
            Value::String(value) => survey.variable(source, name, value),
            _other => {
                survey.invalid(&source.path, format!("env {name}"), "its value must be a string; correct it".into())
            }
        }
    }
    for key in policy.keys().filter(|key| !["exclude", "set"].contains(&key.as_str())) {
        let why = "Bosun has no such setting; programs get your environment without keys";
        survey.not_imported(&source.path, format!("shell_environment_policy.{key}"), why);
    }
}

/// Imports rules for commands by their first words.
fn rules(survey: &mut ImportSurvey<'_>, folder: &Path, owner: SourceOwner) {
    for file in entries(folder).into_iter().filter(|file| file.extension().is_some_and(|end| end == "rules")) {
        let Some(source) = ProductFile::read(survey, file, owner) else { continue };
        for rule in prefix_rules::read(&source.text) {
            match rule {
                Ok(PrefixRule { decision, commands }) => {
                    for command in commands {
                        let effect = decision;
                        let found = format!("{} {command}", effect.as_str());
                        survey.rule(&source, found, effect, &pattern(&command, effect));
                    }
                }
                Err(line) => {
                    let why = format!(
                        "line {line}: it is not a prefix_rule with a plain pattern and decision; add it with `bosun config allow`, `ask` or `deny`"
                    );
                    survey.invalid(&source.path, "a rule", why);
                }
            }
        }
    }
}

/// Ask and deny rules match longer commands anyway.
fn pattern(command: &str, effect: RuleEffect) -> String {
    match effect {
        RuleEffect::Allow => format!("shell({command} *)"),
        RuleEffect::Ask | RuleEffect::Deny => format!("shell({command})"),
    }
}
