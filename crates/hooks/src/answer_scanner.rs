//! Finds the answers in a hook's output. A guard may print other text first, or several answers, and its denial must
//! still count; text that may be an answer but cannot be parsed as one is a failure.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use crate::run::HookRunError;

/// Maximum number of positions at which an object is tried.
const MAX_OBJECTS_TRIED: usize = 256;

/// Fields of an answer.
const ANSWER_FIELDS: [&str; 18] = [
    "hookSpecificOutput",
    "permissionDecision",
    "permissionDecisionReason",
    "decision",
    "reason",
    "behavior",
    "continue",
    "stopReason",
    "updatedInput",
    "modifiedArgs",
    "modifiedPrompt",
    "modifiedResult",
    "updatedToolOutput",
    "updatedMCPToolOutput",
    "updatedPermissions",
    "additionalContext",
    "systemMessage",
    "suppressOutput",
];

/// The fields that decide.
const DECISION_FIELDS: [&str; 4] = ["permissionDecision", "decision", "behavior", "continue"];

type AnswerObject = Map<String, Value>;

/// Every answer in a text; none if it is plain text.
pub(crate) fn find_answers(text: &str) -> Result<Vec<AnswerObject>, HookRunError> {
    if let Ok(answer) = serde_json::from_str::<AnswerObject>(text) {
        return check_decision_keys(&answer, text).map(|()| vec![answer]);
    }
    let (objects, rest) = find_objects(text);
    if text.starts_with('{') && objects.first().is_none_or(|(position, _)| *position != 0) {
        let error = serde_json::from_str::<AnswerObject>(text).err();
        return Err(HookRunError::Json(error.map(|error| error.to_string()).unwrap_or_default()));
    }
    if may_decide(&rest) {
        return Err(HookRunError::Json(
            "a decision is mixed with other text; write one JSON object and nothing else".into(),
        ));
    }
    let answers = objects.into_iter().map(|(_, answer)| answer).filter(|answer| {
        // JSON that a guard merely echoes is not an answer.
        answer.keys().any(|key| ANSWER_FIELDS.contains(&key.as_str()))
            || may_decide(&Value::Object(answer.clone()).to_string())
    });
    let answers: Vec<AnswerObject> = answers.collect();
    answers.iter().try_for_each(|answer| check_decision_keys(answer, &Value::Object(answer.clone()).to_string()))?;
    Ok(answers)
}

/// Fails if an object has a misspelled or nested decision.
fn check_decision_keys(answer: &AnswerObject, text: &str) -> Result<(), HookRunError> {
    let normalized = |key: &str| key.replace(['_', '-'], "").to_ascii_lowercase();
    let specific = answer.get("hookSpecificOutput").and_then(Value::as_object);
    for key in answer.keys().chain(specific.into_iter().flat_map(Map::keys)) {
        let intended = DECISION_FIELDS.into_iter().find(|known| *known != key && normalized(known) == normalized(key));
        if let Some(intended) = intended {
            return Err(HookRunError::Json(format!("unknown field `{key}`; write `{intended}`")));
        }
    }
    let is_known = answer.keys().any(|key| ANSWER_FIELDS.contains(&key.as_str()));
    match !is_known && may_decide(text) {
        true => Err(HookRunError::Json("its decision is nested; write it at the top level".into())),
        false => Ok(()),
    }
}

/// The JSON objects in a text with their positions, and the rest of the text.
fn find_objects(text: &str) -> (Vec<(usize, AnswerObject)>, String) {
    let (mut objects, mut rest, mut position) = (Vec::new(), String::new(), 0);
    for _ in 0..MAX_OBJECTS_TRIED {
        let Some(next) = text[position..].find('{').map(|next| position + next) else { break };
        rest.push_str(&text[position..next]);
        let mut values = serde_json::Deserializer::from_str(&text[next..]).into_iter::<AnswerObject>();
        match values.next() {
            Some(Ok(answer)) => {
                objects.push((next, answer));
                position = next + values.byte_offset();
            }
            Some(Err(_)) | None => {
                rest.push('{');
                position = next + 1;
            }
        }
    }
    rest.push_str(&text[position..]);
    (objects, rest)
}

/// Whether a text may contain a decision.
fn may_decide(text: &str) -> bool {
    static DECISION_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let pattern = r#"(?i)permission_?decision["'\\]*\s*[:=]|["'](decision|behavior|continue)\\*["']\s*:"#;
        Regex::new(pattern).ok()
    });
    DECISION_PATTERN.as_ref().is_none_or(|pattern| pattern.is_match(text))
}
