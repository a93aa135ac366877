//! Imports the files of Codex CLI.

use std::path::Path;

use protocol::{PermissionMode, RuleEffect};
use serde_json::Value;

use super::paths::{
    CopiedPath, ReadInPlacePath, SKILL, SkippedPath, TrustRequirement, entries, import_copies, read_in_place,
    report_skipped,
};
use super::prefix_rules::{self, PrefixRule};
use super::product_file::{JsonTable, ProductFile, SourceOwner};
use super::product_folder::ProductFolder;
use super::survey::ImportSurvey;
use super::values::{self, NO_MEMORY, NO_SERVERS, NO_SESSIONS};

const INSTRUCTION_PATHS: [ReadInPlacePath; 1] = [ReadInPlacePath("AGENTS.md", "instructions", "")];

const SKILL_PATHS: [ReadInPlacePath; 1] = [ReadInPlacePath(".agents/skills", "skills", SKILL)];

/// Files that Bosun can use but does not read in place.
const COPIED_PATHS: [CopiedPath; 3] = [
    CopiedPath("AGENTS.md", "AGENTS.md", "instructions", ""),
    CopiedPath("prompts", "commands", "slash command", ".md"),
    CopiedPath("skills", "skills", "skill", SKILL),
];

const SKIPPED_USER_PATHS: [SkippedPath; 4] = [
    SkippedPath("AGENTS.override.md", "instructions", "Bosun reads AGENTS.md; put the text there"),
    SkippedPath("sessions", "sessions", NO_SESSIONS),
    SkippedPath("history.jsonl", "sessions", NO_SESSIONS),
    SkippedPath("memories", "memory", NO_MEMORY),
];

const SKIPPED_PROJECT_PATHS: [SkippedPath; 2] = [
    SkippedPath("AGENTS.override.md", "instructions", "Bosun reads AGENTS.md; put the text there"),
    SkippedPath(".codex/agents", "agents", "Bosun reads agents in Markdown; write them into .bosun/agents"),
];

/// Scans all files of Codex.
pub(super) fn scan(survey: &mut ImportSurvey<'_>) {
    let top = survey.places.project.dir.clone();
    if let Some(own) = ProductFolder::find(survey, ".codex") {
        scan_settings(survey, &own.join("config.toml"), own.owner);
        import_rules(survey, &own.join("rules"), own.owner);
        import_copies(survey, &own.path, &COPIED_PATHS);
        if let Some(user) = survey.places.user_home {
            read_in_place(survey, user, TrustRequirement::NotRequired, &SKILL_PATHS);
        }
        own.report_skipped(survey, &SKIPPED_USER_PATHS);
    }
    // In the user's home folder, the project's files are the user's own.
    if survey.places.user_home != Some(&top) {
        scan_settings(survey, &top.join(".codex/config.toml"), SourceOwner::OutsideTrust);
        import_rules(survey, &top.join(".codex/rules"), SourceOwner::OutsideTrust);
        read_in_place(survey, &top, TrustRequirement::Trust, &SKILL_PATHS);
    }
    read_in_place(survey, &top, TrustRequirement::NotRequired, &INSTRUCTION_PATHS);
    report_skipped(survey, &top, &SKIPPED_PROJECT_PATHS);
}

fn scan_settings(survey: &mut ImportSurvey<'_>, path: &Path, owner: SourceOwner) {
    let Some(source) = ProductFile::read(survey, path.to_owned(), owner) else { return };
    let Some(table) = source.toml(survey) else { return };
    import_model(survey, &source, &table);
    import_mode(survey, &source, &table);
    for key in table.keys() {
        import_setting(survey, &source, &table, key);
    }
}

fn import_setting(survey: &mut ImportSurvey<'_>, source: &ProductFile, table: &JsonTable, key: &str) {
    match key {
        "model" | "model_provider" | "approval_policy" | "sandbox_mode" => {}
        "model_reasoning_effort" => {
            if let Some(effort) = values::string_value(survey, source, table, key) {
                survey.import_effort(source, format!("{key} {effort}"), effort);
            }
        }
        "sandbox_workspace_write" => {
            let Some(sandbox) = values::table_value(survey, source, table, key) else { return };
            for folder in values::string_list(survey, source, sandbox, "writable_roots") {
                survey.import_folder(source, folder);
            }
            for other in sandbox.keys().filter(|other| *other != "writable_roots") {
                survey.report_not_imported(&source.path, format!("{key}.{other}"), "Bosun has no sandbox");
            }
        }
        "shell_environment_policy" => {
            if let Some(policy) = values::table_value(survey, source, table, key) {
                import_variables(survey, source, policy);
            }
        }
        "mcp_servers" => {
            if let Some(servers) = values::table_value(survey, source, table, key) {
                survey.report_not_imported(
                    &source.path,
                    format!("MCP servers: {}", values::key_names(servers)),
                    NO_SERVERS,
                );
            }
        }
        "projects" => {
            let why = "Bosun trusts a project's files as they are, not its folder; run `bosun trust` in each";
            survey.report_not_imported(&source.path, key, why);
        }
        "profiles" => {
            survey.report_not_imported(&source.path, key, "Bosun has none; use --settings FILE for other settings")
        }
        "model_providers" => {
            survey.report_not_imported(
                &source.path,
                key,
                "describe each under [providers] in config.toml; docs/providers.md",
            );
        }
        other => survey.report_not_imported(&source.path, other, "Bosun has no such setting"),
    }
}

fn import_model(survey: &mut ImportSurvey<'_>, source: &ProductFile, table: &JsonTable) {
    let provider = values::string_value(survey, source, table, "model_provider").unwrap_or("openai");
    let Some(name) = values::string_value(survey, source, table, "model") else { return };
    let subject = format!("model {name}");
    match provider {
        "openai" => match values::to_bosun_model(name) {
            Ok(model) => survey.import_model(source, subject, &model),
            Err(_unknown) => survey.import_model(source, subject, &format!("openai/{name}")),
        },
        "ollama" | "oss" => survey.import_model(source, subject, &format!("ollama/{name}")),
        other => {
            let why =
                format!("describe its provider under [providers.{other}] in config.toml, then choose {other}/{name}");
            survey.report_not_imported(&source.path, subject, why);
        }
    }
}

/// Imports the permission mode. In Codex, the sandbox decides what runs without asking, and the policy decides about the
/// rest. Bosun has no sandbox: rules decide about commands in every mode.
fn import_mode(survey: &mut ImportSurvey<'_>, source: &ProductFile, table: &JsonTable) {
    let sandbox = values::string_value(survey, source, table, "sandbox_mode");
    let policy = values::string_value(survey, source, table, "approval_policy");
    let entry = |key: &str, value: Option<&str>| value.map(|value| format!("{key} {value}"));
    let subject: Vec<String> =
        [entry("sandbox_mode", sandbox), entry("approval_policy", policy)].into_iter().flatten().collect();
    if subject.is_empty() {
        return;
    }
    let subject = subject.join(", ");
    match (sandbox, policy) {
        (Some("danger-full-access"), Some("never")) => survey.import_mode(source, subject, PermissionMode::AllowAll),
        (Some("workspace-write" | "danger-full-access"), _) => {
            survey.import_mode(source, subject, PermissionMode::AcceptEdits)
        }
        (Some("read-only") | None, _) => survey.import_mode(source, subject, PermissionMode::Default),
        (Some(_other), _) => survey.report_not_imported(&source.path, subject, "Bosun has no such sandbox mode"),
    }
}

fn import_variables(survey: &mut ImportSurvey<'_>, source: &ProductFile, policy: &JsonTable) {
    for pattern in values::string_list(survey, source, policy, "exclude") {
        let subject = format!("env exclude {pattern}");
        match pattern.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '*')) && !pattern.is_empty() {
            true => survey.import_hidden_pattern(source, subject, pattern),
            false => survey.report_not_imported(&source.path, subject, "Bosun's patterns are names with `*`"),
        }
    }
    let set = values::table_value(survey, source, policy, "set");
    for (name, value) in set.into_iter().flatten() {
        match value {
            Value::String(value) => survey.import_variable(source, name, value),
            _other => survey.report_invalid(
                &source.path,
                format!("env {name}"),
                "its value must be a string; correct it".into(),
            ),
        }
    }
    for key in policy.keys().filter(|key| !["exclude", "set"].contains(&key.as_str())) {
        let why = "Bosun has no such setting; programs get your environment without keys";
        survey.report_not_imported(&source.path, format!("shell_environment_policy.{key}"), why);
    }
}

/// Imports rules for commands by their first words.
fn import_rules(survey: &mut ImportSurvey<'_>, folder: &Path, owner: SourceOwner) {
    for file in entries(folder).into_iter().filter(|file| file.extension().is_some_and(|end| end == "rules")) {
        let Some(source) = ProductFile::read(survey, file, owner) else { continue };
        for rule in prefix_rules::read(&source.text) {
            match rule {
                Ok(PrefixRule { decision, commands }) => {
                    for command in commands {
                        let effect = decision;
                        let subject = format!("{} {command}", effect.as_str());
                        survey.import_rule(&source, subject, effect, &shell_rule(&command, effect));
                    }
                }
                Err(line) => {
                    let why = format!(
                        "line {line}: it is not a prefix_rule with a plain pattern and decision; add it with `bosun config allow`, `ask` or `deny`"
                    );
                    survey.report_invalid(&source.path, "a rule", why);
                }
            }
        }
    }
}

/// The rule for a command prefix. Ask and deny rules match longer commands without a wildcard.
fn shell_rule(command: &str, effect: RuleEffect) -> String {
    match effect {
        RuleEffect::Allow => format!("shell({command} *)"),
        RuleEffect::Ask | RuleEffect::Deny => format!("shell({command})"),
    }
}
