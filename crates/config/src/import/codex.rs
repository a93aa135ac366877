//! The files of Codex CLI.

use std::path::Path;

use protocol::{PermissionMode, RuleEffect};
use serde_json::Value;

use super::own_folder::OwnFolder;
use super::paths::{Copied, InPlace, Left, Needs, SKILL, copy, entries, left, read_in_place};
use super::prefix_rules::{self, PrefixRule};
use super::source::{Owner, Source, Table};
use super::survey::Survey;
use super::values::{self, NO_MEMORY, NO_SERVERS, NO_SESSIONS};

const INSTRUCTIONS: [InPlace; 1] = [InPlace("AGENTS.md", "instructions", "")];

const SKILLS: [InPlace; 1] = [InPlace(".agents/skills", "skills", SKILL)];

/// What Bosun has a place for and does not read where it is.
const COPIED: [Copied; 3] = [
    Copied("AGENTS.md", "AGENTS.md", "instructions", ""),
    Copied("prompts", "commands", "slash command", ".md"),
    Copied("skills", "skills", "skill", SKILL),
];

const NOT_OF_USER: [Left; 4] = [
    Left("AGENTS.override.md", "instructions", "Bosun reads AGENTS.md; put the text there"),
    Left("sessions", "sessions", NO_SESSIONS),
    Left("history.jsonl", "sessions", NO_SESSIONS),
    Left("memories", "memory", NO_MEMORY),
];

const NOT_OF_PROJECT: [Left; 2] = [
    Left("AGENTS.override.md", "instructions", "Bosun reads AGENTS.md; put the text there"),
    Left(".codex/agents", "agents", "Bosun reads agents in Markdown; write them into .bosun/agents"),
];

/// Looks at everything of Codex.
pub(super) fn look(survey: &mut Survey<'_>) {
    let top = survey.places.project.top.clone();
    if let Some(own) = OwnFolder::of(survey, ".codex") {
        settings(survey, &own.join("config.toml"), own.owner);
        rules(survey, &own.join("rules"), own.owner);
        copy(survey, &own.path, &COPIED);
        if let Some(user) = survey.places.user {
            read_in_place(survey, user, Needs::Nothing, &SKILLS);
        }
        own.left(survey, &NOT_OF_USER);
    }
    // In the user's own folder the project's files are the user's.
    if survey.places.user != Some(&top) {
        settings(survey, &top.join(".codex/config.toml"), Owner::Uncovered);
        rules(survey, &top.join(".codex/rules"), Owner::Uncovered);
        read_in_place(survey, &top, Needs::Trust, &SKILLS);
    }
    read_in_place(survey, &top, Needs::Nothing, &INSTRUCTIONS);
    left(survey, &top, &NOT_OF_PROJECT);
}

fn settings(survey: &mut Survey<'_>, path: &Path, owner: Owner) {
    let Some(source) = Source::read(survey, path.to_owned(), owner) else { return };
    let Some(table) = source.toml(survey) else { return };
    model(survey, &source, &table);
    mode(survey, &source, &table);
    for key in table.keys() {
        setting(survey, &source, &table, key);
    }
}

fn setting(survey: &mut Survey<'_>, source: &Source, table: &Table, key: &str) {
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
            let why = "Bosun trusts the files of a project as they are, not a folder; `bosun trust` in each";
            survey.not_imported(&source.path, key, why);
        }
        "profiles" => {
            survey.not_imported(&source.path, key, "Bosun has none; --settings FILE gives a run other settings")
        }
        "model_providers" => {
            survey.not_imported(&source.path, key, "describe each under [providers] in config.toml; docs/providers.md");
        }
        other => survey.not_imported(&source.path, other, "Bosun has no such setting"),
    }
}

fn model(survey: &mut Survey<'_>, source: &Source, table: &Table) {
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

/// The sandbox says what runs without asking, and the policy what happens to the rest. Bosun has no sandbox: commands
/// are judged by rules in every mode.
fn mode(survey: &mut Survey<'_>, source: &Source, table: &Table) {
    let sandbox = values::text(survey, source, table, "sandbox_mode");
    let policy = values::text(survey, source, table, "approval_policy");
    let said = |key: &str, value: Option<&str>| value.map(|value| format!("{key} {value}"));
    let found: Vec<String> =
        [said("sandbox_mode", sandbox), said("approval_policy", policy)].into_iter().flatten().collect();
    if found.is_empty() {
        return;
    }
    let found = found.join(", ");
    match (sandbox, policy) {
        (Some("danger-full-access"), Some("never")) => survey.mode(source, found, PermissionMode::AllowAll),
        (Some("workspace-write" | "danger-full-access"), _) => survey.mode(source, found, PermissionMode::AcceptEdits),
        (Some("read-only") | None, _) => survey.mode(source, found, PermissionMode::Default),
        (Some(_other), _) => survey.not_imported(&source.path, found, "Bosun knows no such sandbox mode"),
    }
}

fn variables(survey: &mut Survey<'_>, source: &Source, policy: &Table) {
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
                survey.invalid(&source.path, format!("env {name}"), "its value must be a text; correct it".into())
            }
        }
    }
    for key in policy.keys().filter(|key| !["exclude", "set"].contains(&key.as_str())) {
        let why = "Bosun has no such setting; it gives programs your environment without keys";
        survey.not_imported(&source.path, format!("shell_environment_policy.{key}"), why);
    }
}

/// Rules for commands by the words that they begin with.
fn rules(survey: &mut Survey<'_>, folder: &Path, owner: Owner) {
    for file in entries(folder).into_iter().filter(|file| file.extension().is_some_and(|end| end == "rules")) {
        let Some(source) = Source::read(survey, file, owner) else { continue };
        for rule in prefix_rules::read(&source.text) {
            match rule {
                Ok(PrefixRule { decision, commands }) => {
                    for command in commands {
                        let effect = decision;
                        let found = format!("{} {command}", effect.word());
                        survey.rule(&source, found, effect, &pattern(&command, effect));
                    }
                }
                Err(line) => {
                    let why = format!(
                        "line {line}: it is not a prefix_rule with a plain pattern and decision; write it with `bosun config allow`, `ask` or `deny`"
                    );
                    survey.invalid(&source.path, "a rule", why);
                }
            }
        }
    }
}

/// What forbids matches with more words after it anyway.
fn pattern(command: &str, effect: RuleEffect) -> String {
    match effect {
        RuleEffect::Allow => format!("shell({command} *)"),
        RuleEffect::Ask | RuleEffect::Deny => format!("shell({command})"),
    }
}
