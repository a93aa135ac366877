//! The expectation that a final text satisfies a JSON Schema.

use std::collections::BTreeMap;

use jsonschema::{Draft, PatternOptions, Validator};
use protocol::{Clip, Hinted};
use serde_json::Value;
use tokio::task::JoinError;

use crate::prompt;

/// Maximum number of mistakes reported for one text.
const MAX_MISTAKES: usize = 10;

/// Maximum bytes of the report.
const MAX_MISTAKE_BYTES: usize = 2_000;

/// Keys that give a part of a schema another name than its path, or change what names refer to.
const FORBIDDEN_KEYS: [&str; 5] = ["$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef"];

/// Maximum number of values in a schema once its references are followed.
const MAX_SCHEMA_SIZE: usize = 20_000;

/// Maximum number of patterns in a schema.
const MAX_PATTERNS: usize = 64;

/// Maximum bytes of a compiled pattern.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Why a JSON Schema cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// It has too many patterns to compile.
    #[error("`schema` has more than {} patterns", MAX_PATTERNS)]
    TooManyPatterns,
    /// It is not a JSON Schema.
    #[error("`schema` is not a usable JSON Schema: {0}")]
    Invalid(Clip),
    /// It gives its parts other names than their paths.
    #[error("`schema` may not use `$id`, anchors or dynamic references")]
    NamedParts,
    /// It is too large once its references are followed.
    #[error("`schema` is too large")]
    TooLarge,
    /// It refers to something outside of it.
    #[error("`schema` refers to `{0}`, which is not in its `$defs`")]
    UnknownReference(Clip),
    /// It refers to itself.
    #[error("`schema` refers to itself at `{0}`")]
    Recursive(Clip),
    /// The check itself failed.
    #[error("the answer could not be checked: {0}")]
    CheckFailed(#[from] JoinError),
}

impl Hinted for SchemaError {
    fn hint(&self) -> Option<String> {
        match self {
            SchemaError::NamedParts => Some("refer to `$defs`".into()),
            SchemaError::TooManyPatterns
            | SchemaError::Invalid(_)
            | SchemaError::TooLarge
            | SchemaError::UnknownReference(_)
            | SchemaError::Recursive(_)
            | SchemaError::CheckFailed(_) => None,
        }
    }
}

/// The validator of a schema. Patterns match in linear time.
pub(super) fn validator(schema: &Value) -> Result<Validator, SchemaError> {
    expanded_size(schema, &SchemaDefinitions::of(schema), &mut Vec::new(), &mut BTreeMap::new())?;
    if pattern_count(schema) > MAX_PATTERNS {
        return Err(SchemaError::TooManyPatterns);
    }
    // Every schema is read as this draft, whichever it declares.
    let regex = PatternOptions::regex().size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES);
    let options = jsonschema::options().with_draft(Draft::Draft202012).with_pattern_options(regex);
    options.build(schema).map_err(|error| SchemaError::Invalid(clip_text(&error.to_string())))
}

/// Describes why the text does not satisfy the schema. It may take long, so it runs on a separate thread.
pub(super) async fn check_text(schema: Value, text: String) -> Result<Option<String>, SchemaError> {
    let check = tokio::task::spawn_blocking(move || find_mistakes(&schema, &text));
    check.await?
}

fn find_mistakes(schema: &Value, text: &str) -> Result<Option<String>, SchemaError> {
    let validator = validator(schema)?;
    let Some(value) = extract_json(text) else {
        return Ok(Some("- the final answer is not JSON; answer with the JSON alone, or in one ```json fence".into()));
    };
    let describe = |error: jsonschema::ValidationError<'_>| {
        let place = error.instance_path().to_string();
        let place = if place.is_empty() { "/".to_owned() } else { place };
        format!("{place}: {}", clip_text(&error.masked().to_string()))
    };
    let mistakes: Vec<String> = validator.iter_errors(&value).take(MAX_MISTAKES).map(describe).collect();
    Ok((!mistakes.is_empty()).then(|| {
        let mistakes = prompt::quote(Clip::new(&mistakes.join("\n"), MAX_MISTAKE_BYTES).as_str());
        format!("- the final answer does not satisfy the schema:\n{mistakes}")
    }))
}

fn clip_text(text: &str) -> Clip {
    Clip::new(text, 300)
}

/// The JSON in a text: the whole text, or the content of its last fence.
fn extract_json(text: &str) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(text.trim()) {
        return Some(value);
    }
    let mut fenced: Option<String> = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.trim().strip_prefix("```") else { continue };
        let inside = lines.by_ref().take_while(|line| line.trim() != "```").collect::<Vec<_>>().join("\n");
        if matches!(language.trim(), "" | "json") {
            fenced = Some(inside);
        }
    }
    serde_json::from_str(fenced?.trim()).ok()
}

/// The parts of a schema that references may name.
struct SchemaDefinitions<'a>(BTreeMap<String, &'a Value>);

impl<'a> SchemaDefinitions<'a> {
    fn of(schema: &'a Value) -> SchemaDefinitions<'a> {
        let named = ["$defs", "definitions"].into_iter().flat_map(|key| {
            let parts = schema.get(key).and_then(Value::as_object).into_iter().flatten();
            parts.map(move |(name, part)| (format!("#/{key}/{name}"), part))
        });
        SchemaDefinitions(named.collect())
    }
}

/// Counts the values of a schema once its references are followed. Refuses one that refers to itself or grows too
/// large: validation might never end.
fn expanded_size<'a>(
    schema: &'a Value,
    definitions: &SchemaDefinitions<'a>,
    open_references: &mut Vec<&'a str>,
    sizes: &mut BTreeMap<&'a str, usize>,
) -> Result<usize, SchemaError> {
    let mut sum: usize = 1;
    let inner: Vec<&Value> = match schema {
        Value::Object(object) => object.values().collect(),
        Value::Array(array) => array.iter().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for value in inner {
        sum = sum.saturating_add(expanded_size(value, definitions, open_references, sizes)?);
    }
    if FORBIDDEN_KEYS.iter().any(|key| schema.get(key).is_some_and(Value::is_string)) {
        return Err(SchemaError::NamedParts);
    }
    if let Some(Value::String(target)) = schema.get("$ref") {
        sum = sum.saturating_add(reference_size(target, definitions, open_references, sizes)?);
    }
    if sum > MAX_SCHEMA_SIZE { Err(SchemaError::TooLarge) } else { Ok(sum) }
}

/// Counts the patterns to compile: a few short ones can take all memory.
fn pattern_count(schema: &Value) -> usize {
    match schema {
        Value::Object(object) => {
            let named = object.get("patternProperties").and_then(Value::as_object).map_or(0, serde_json::Map::len);
            let own = usize::from(object.get("pattern").is_some_and(Value::is_string));
            own + named + object.values().map(pattern_count).sum::<usize>()
        }
        Value::Array(array) => array.iter().map(pattern_count).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn reference_size<'a>(
    target: &'a str,
    definitions: &SchemaDefinitions<'a>,
    open_references: &mut Vec<&'a str>,
    sizes: &mut BTreeMap<&'a str, usize>,
) -> Result<usize, SchemaError> {
    if let Some(size) = sizes.get(target) {
        return Ok(*size);
    }
    let Some(part) = definitions.0.get(target) else {
        return Err(SchemaError::UnknownReference(clip_text(target)));
    };
    if open_references.contains(&target) {
        return Err(SchemaError::Recursive(clip_text(target)));
    }
    open_references.push(target);
    let size = expanded_size(part, definitions, open_references, sizes)?;
    open_references.pop();
    sizes.insert(target, size);
    Ok(size)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_found_alone_and_in_a_fence() {
        let extracted = |text: &str| extract_json(text).map(|value| value.to_string());
        assert_eq!(extracted(" {\"a\": 1}\n").as_deref(), Some("{\"a\":1}"));
        assert_eq!(extracted("Here:\n```json\n[1,\n2]\n```\nDone.").as_deref(), Some("[1,2]"));
        assert_eq!(extracted("```\n1\n```\nno, this:\n```json\n2\n```").as_deref(), Some("2"));
        assert_eq!(extracted("```json\n3").as_deref(), Some("3"));
        for none in ["", "done", "```rust\n1\n```", "```json\n{\n```", &"[".repeat(10_000)] {
            assert_eq!(extracted(none), None);
        }
    }

    #[test]
    fn a_text_is_checked_against_the_schema() {
        let schema = json!({
            "type": "object", "required": ["n"], "properties": { "n": { "$ref": "#/$defs/count" } },
            "$defs": { "count": { "type": "integer", "minimum": 1 } },
        });
        assert_eq!(find_mistakes(&schema, r#"{"n": 2}"#).unwrap(), None);
        let wrong = find_mistakes(&schema, r#"{"n": 0}"#).unwrap().unwrap();
        assert!(wrong.contains("> /n: "), "{wrong}");
        assert!(find_mistakes(&schema, "I did it").unwrap().unwrap().contains("not JSON"));
    }

    #[test]
    fn a_schema_whose_validation_might_not_end_is_refused() {
        let doubled =
            |n: usize| json!({ "allOf": [{ "$ref": format!("#/$defs/{n}") }, { "$ref": format!("#/$defs/{n}") }] });
        let bomb: serde_json::Map<String, Value> = (0..40).map(|n| (n.to_string(), doubled(n + 1))).collect();
        let mut bomb = json!({ "$defs": bomb, "$ref": "#/$defs/0" });
        bomb["$defs"]["40"] = json!({ "type": "string" });
        let unusable = [
            json!({ "$ref": "#" }),
            json!({ "allOf": [{ "$ref": "#/$defs/a" }], "$defs": { "a": { "anyOf": [{ "$ref": "#/$defs/a" }] } } }),
            json!({ "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
            json!({ "$ref": "https://example.com/schema.json" }),
            json!({ "$dynamicRef": "#x" }),
            bomb,
            json!({ "type": "nonsense" }),
            json!({ "pattern": "(" , "type": "string" }),
            json!({ "pattern": r"\p{L}{400}" }),
            json!({ "anyOf": (0..65).map(|n| json!({ "pattern": format!("a{n}") })).collect::<Vec<_>>() }),
            json!({ "patternProperties": (0..65).map(|n| (format!("a{n}"), json!({}))).collect::<serde_json::Map<_, _>>() }),
            json!(7),
        ];
        for schema in unusable {
            assert!(validator(&schema).is_err(), "{schema}");
        }
    }

    #[test]
    fn a_pattern_does_not_backtrack() {
        let schema = json!({ "type": "string", "pattern": "^(a+)+$" });
        let text = format!("\"{}!\"", "a".repeat(50_000));
        assert!(find_mistakes(&schema, &text).unwrap().is_some());
    }
}
