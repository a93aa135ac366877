//! A JSON Schema that a final text must satisfy.

use std::collections::BTreeMap;

use jsonschema::{Draft, PatternOptions, Validator};
use protocol::Clip;
use serde_json::Value;

use crate::prompt;

/// Most mistakes that are told of one text.
const TOLD: usize = 10;

/// Most bytes of what is told of them.
const WORDS: usize = 2_000;

/// What gives parts of a schema other names than their place, or another meaning to names.
const NAMING: [&str; 5] = ["$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef"];

/// Most values that a schema may have once its references are followed.
const SIZE: usize = 20_000;

/// Most patterns of a schema, and most bytes that one of them may take when it is ready.
const PATTERNS: usize = 64;
const PATTERN: usize = 1 << 20;

/// The schema, ready to be used. A pattern is matched in a time that grows with the text and no faster.
pub(super) fn validator(schema: &Value) -> Result<Validator, String> {
    size(schema, &Definitions::of(schema), &mut Vec::new(), &mut BTreeMap::new())?;
    if patterns(schema) > PATTERNS {
        return Err(format!("`schema` has more than {PATTERNS} patterns"));
    }
    // One meaning for every schema, whichever it claims.
    let regex = PatternOptions::regex().size_limit(PATTERN).dfa_size_limit(PATTERN);
    let options = jsonschema::options().with_draft(Draft::Draft202012).with_pattern_options(regex);
    options.build(schema).map_err(|error| format!("`schema` is not a usable JSON Schema: {}", told(&error.to_string())))
}

/// What keeps the text from satisfying the schema. It may take long, so it is looked at on a thread of its own.
pub(super) async fn missing(schema: Value, said: String) -> Result<Option<String>, String> {
    let look = tokio::task::spawn_blocking(move || look(&schema, &said));
    look.await.map_err(|error| format!("the answer could not be looked at: {error}"))?
}

fn look(schema: &Value, said: &str) -> Result<Option<String>, String> {
    let validator = validator(schema)?;
    let Some(value) = json(said) else {
        return Ok(Some("- the final answer is not JSON; answer with the JSON alone, or in one ```json fence".into()));
    };
    let wrong = |error: jsonschema::ValidationError<'_>| {
        let place = error.instance_path().to_string();
        let place = if place.is_empty() { "/".to_owned() } else { place };
        format!("{place}: {}", told(&error.masked().to_string()))
    };
    let mistakes: Vec<String> = validator.iter_errors(&value).take(TOLD).map(wrong).collect();
    Ok((!mistakes.is_empty()).then(|| {
        let mistakes = prompt::quote(Clip::new(&mistakes.join("\n"), WORDS).as_str());
        format!("- the final answer does not satisfy the schema:\n{mistakes}")
    }))
}

fn told(text: &str) -> Clip {
    Clip::new(text, 300)
}

/// The JSON in a text: all of it, or what its last fence holds.
fn json(said: &str) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(said.trim()) {
        return Some(value);
    }
    let mut fenced: Option<String> = None;
    let mut lines = said.lines();
    while let Some(line) = lines.next() {
        let Some(word) = line.trim().strip_prefix("```") else { continue };
        let inside = lines.by_ref().take_while(|line| line.trim() != "```").collect::<Vec<_>>().join("\n");
        if matches!(word.trim(), "" | "json") {
            fenced = Some(inside);
        }
    }
    serde_json::from_str(fenced?.trim()).ok()
}

/// The parts of a schema that references may name.
struct Definitions<'a>(BTreeMap<String, &'a Value>);

impl<'a> Definitions<'a> {
    fn of(schema: &'a Value) -> Definitions<'a> {
        let named = ["$defs", "definitions"].into_iter().flat_map(|key| {
            let parts = schema.get(key).and_then(Value::as_object).into_iter().flatten();
            parts.map(move |(name, part)| (format!("#/{key}/{name}"), part))
        });
        Definitions(named.collect())
    }
}

/// How many values a schema has once its references are followed. Refuses one that refers to itself or grows beyond
/// measure: looking at a text by it might never end.
fn size<'a>(
    schema: &'a Value,
    definitions: &Definitions<'a>,
    within: &mut Vec<&'a str>,
    known: &mut BTreeMap<&'a str, usize>,
) -> Result<usize, String> {
    let mut sum: usize = 1;
    let inner: Vec<&Value> = match schema {
        Value::Object(object) => object.values().collect(),
        Value::Array(array) => array.iter().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for value in inner {
        sum = sum.saturating_add(size(value, definitions, within, known)?);
    }
    if NAMING.iter().any(|key| schema.get(key).is_some_and(Value::is_string)) {
        return Err("`schema` may not use `$id`, anchors or dynamic references; refer to `$defs`".into());
    }
    if let Some(Value::String(target)) = schema.get("$ref") {
        sum = sum.saturating_add(follow(target, definitions, within, known)?);
    }
    if sum > SIZE { Err("`schema` is too large".into()) } else { Ok(sum) }
}

/// How many patterns may have to be made ready: a few short ones can take all memory there is.
fn patterns(schema: &Value) -> usize {
    match schema {
        Value::Object(object) => {
            let named = object.get("patternProperties").and_then(Value::as_object).map_or(0, serde_json::Map::len);
            let own = usize::from(object.get("pattern").is_some_and(Value::is_string));
            own + named + object.values().map(patterns).sum::<usize>()
        }
        Value::Array(array) => array.iter().map(patterns).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn follow<'a>(
    target: &'a str,
    definitions: &Definitions<'a>,
    within: &mut Vec<&'a str>,
    known: &mut BTreeMap<&'a str, usize>,
) -> Result<usize, String> {
    if let Some(size) = known.get(target) {
        return Ok(*size);
    }
    let Some(part) = definitions.0.get(target) else {
        return Err(format!("`schema` refers to `{}`, which is none of its `$defs`", told(target)));
    };
    if within.contains(&target) {
        return Err(format!("`schema` refers to itself at `{}`", told(target)));
    }
    within.push(target);
    let size = size(part, definitions, within, known)?;
    within.pop();
    known.insert(target, size);
    Ok(size)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_found_alone_and_in_a_fence() {
        let found = |text: &str| json(text).map(|value| value.to_string());
        assert_eq!(found(" {\"a\": 1}\n").as_deref(), Some("{\"a\":1}"));
        assert_eq!(found("Here:\n```json\n[1,\n2]\n```\nDone.").as_deref(), Some("[1,2]"));
        assert_eq!(found("```\n1\n```\nno, this:\n```json\n2\n```").as_deref(), Some("2"));
        assert_eq!(found("```json\n3").as_deref(), Some("3"));
        for none in ["", "done", "```rust\n1\n```", "```json\n{\n```", &"[".repeat(10_000)] {
            assert_eq!(found(none), None);
        }
    }

    #[test]
    fn a_text_is_held_against_the_schema() {
        let schema = json!({
            "type": "object", "required": ["n"], "properties": { "n": { "$ref": "#/$defs/count" } },
            "$defs": { "count": { "type": "integer", "minimum": 1 } },
        });
        assert_eq!(look(&schema, r#"{"n": 2}"#), Ok(None));
        let wrong = look(&schema, r#"{"n": 0}"#).unwrap().unwrap();
        assert!(wrong.contains("> /n: "), "{wrong}");
        assert!(look(&schema, "I did it").unwrap().unwrap().contains("not JSON"));
    }

    #[test]
    fn a_schema_that_could_be_looked_at_for_ever_is_refused() {
        let doubled =
            |n: usize| json!({ "allOf": [{ "$ref": format!("#/$defs/{n}") }, { "$ref": format!("#/$defs/{n}") }] });
        let bomb: serde_json::Map<String, Value> = (0..40).map(|n| (n.to_string(), doubled(n + 1))).collect();
        let mut bomb = json!({ "$defs": bomb, "$ref": "#/$defs/0" });
        bomb["$defs"]["40"] = json!({ "type": "string" });
        let hopeless = [
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
        for schema in hopeless {
            assert!(validator(&schema).is_err(), "{schema}");
        }
    }

    #[test]
    fn a_pattern_that_would_backtrack_for_ever_does_not() {
        let schema = json!({ "type": "string", "pattern": "^(a+)+$" });
        let text = format!("\"{}!\"", "a".repeat(50_000));
        assert!(look(&schema, &text).unwrap().is_some());
    }
}
