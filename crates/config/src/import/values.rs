//! Values of other products' settings, read without trusting their types.

use serde_json::Value;

use super::product_file::{JsonTable, ProductFile};
use super::survey::ImportSurvey;

/// The string value of a key; reports any other value.
pub(super) fn string_value<'a>(
    survey: &mut ImportSurvey<'_>,
    source: &ProductFile,
    table: &'a JsonTable,
    key: &str,
) -> Option<&'a str> {
    match table.get(key)? {
        Value::Null => None,
        Value::String(text) => Some(text),
        _other => report_wrong_type(survey, source, key, "a string"),
    }
}

/// The strings in a list; reports any other value, and entries that are not strings.
pub(super) fn string_list<'a>(
    survey: &mut ImportSurvey<'_>,
    source: &ProductFile,
    table: &'a JsonTable,
    key: &str,
) -> Vec<&'a str> {
    let Some(Value::Array(list)) = table.get(key).filter(|value| !value.is_null()) else {
        if table.get(key).is_some_and(|value| !value.is_null()) {
            let _reported: Option<()> = report_wrong_type(survey, source, key, "a list of strings");
        }
        return Vec::new();
    };
    let texts: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
    if texts.len() < list.len() {
        let _reported: Option<()> = report_wrong_type(survey, source, key, "a list of strings only");
    }
    texts
}

/// The table value of a key; reports any other value.
pub(super) fn table_value<'a>(
    survey: &mut ImportSurvey<'_>,
    source: &ProductFile,
    table: &'a JsonTable,
    key: &str,
) -> Option<&'a JsonTable> {
    match table.get(key)? {
        Value::Null => None,
        Value::Object(below) => Some(below),
        _other => report_wrong_type(survey, source, key, "a table"),
    }
}

/// Reports a value of the wrong type, without showing it.
fn report_wrong_type<T>(survey: &mut ImportSurvey<'_>, source: &ProductFile, key: &str, wanted: &str) -> Option<T> {
    let at = source.line_of(key).map(|line| format!("line {line}: ")).unwrap_or_default();
    survey.report_invalid(&source.path, key, format!("{at}it must be {wanted}; correct or remove it"));
    None
}

/// The names of a table's keys, for messages.
pub(super) fn key_names(table: &JsonTable) -> String {
    const MAX_NAMES: usize = 8;
    let mut names: Vec<&str> = table.keys().take(MAX_NAMES).map(String::as_str).collect();
    if table.len() > MAX_NAMES {
        names.push("…");
    }
    names.join(", ")
}

/// Converts a product's model name to Bosun's, or returns why it cannot.
pub(super) fn to_bosun_model(name: &str) -> Result<String, &'static str> {
    // Brackets contain the size of the context window.
    let name = name.split_once('[').map_or(name, |(name, _)| name).trim();
    match name {
        "sonnet" | "opus" | "haiku" => Ok(name.to_owned()),
        "" | "default" | "auto" | "best" | "opusplan" => {
            Err("the other product chooses the model; choose one with `bosun models`")
        }
        name if name.contains(['/', ':']) => {
            Err("Bosun does not know its provider; describe it under [providers] in config.toml")
        }
        name if name.starts_with("claude-") => Ok(format!("anthropic/{}", name.replace('.', "-"))),
        name if is_openai_model(name) => Ok(format!("openai/{name}")),
        _other => Err("its provider is unknown; choose a model with `bosun models`"),
    }
}

fn is_openai_model(name: &str) -> bool {
    let numbered = name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    name.starts_with("gpt-") || name.starts_with("codex-") || numbered
}

/// Why MCP servers are not imported.
pub(super) const NO_SERVERS: &str = "add those that you want with `bosun mcp add`";

/// Why sessions are not imported.
pub(super) const NO_SESSIONS: &str = "sessions of other products cannot be imported yet";

/// Why memories are not imported.
pub(super) const NO_MEMORY: &str = "memories of other products cannot be imported yet";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_names_are_converted() {
        let named = [
            ("opus", "opus"),
            ("opus[1m]", "opus"),
            ("claude-sonnet-4.5", "anthropic/claude-sonnet-4-5"),
            ("claude-opus-4-8", "anthropic/claude-opus-4-8"),
            ("gpt-5.4", "openai/gpt-5.4"),
            ("o3", "openai/o3"),
        ];
        for (theirs, ours) in named {
            assert_eq!(to_bosun_model(theirs).as_deref(), Ok(ours));
        }
        for theirs in ["default", "opusplan", "us.anthropic.claude:0", "gemini-3", "bedrock/x", ""] {
            assert!(to_bosun_model(theirs).is_err(), "{theirs}");
        }
    }
}
