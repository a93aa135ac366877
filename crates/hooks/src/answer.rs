//! The answers among everything that a hook wrote. A guard may print other things first, or several answers, and its no
//! must be heard all the same; what may be an answer and cannot be read as one is a failure.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use crate::run::Failure;

/// Most beginnings of objects that are tried.
const TRIES: usize = 256;

/// What an answer may say.
const KNOWN: [&str; 18] = [
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

/// What decides, of those.
const DECIDING: [&str; 4] = ["permissionDecision", "decision", "behavior", "continue"];

type Answer = Map<String, Value>;

/// Every answer in a text; none when it is only words.
pub(crate) fn answers(text: &str) -> Result<Vec<Answer>, Failure> {
    if let Ok(answer) = serde_json::from_str::<Answer>(text) {
        return clear(&answer, text).map(|()| vec![answer]);
    }
    let (found, rest) = objects(text);
    if text.starts_with('{') && found.first().is_none_or(|(at, _)| *at != 0) {
        let error = serde_json::from_str::<Answer>(text).err();
        return Err(Failure::Json(error.map(|error| error.to_string()).unwrap_or_default()));
    }
    if decides(&rest) {
        return Err(Failure::Json(
            "a decision stands among other words; write one JSON object and nothing else".into(),
        ));
    }
    let said = found.into_iter().map(|(_, answer)| answer).filter(|answer| {
        // What a guard echoes is no answer of it.
        answer.keys().any(|key| KNOWN.contains(&key.as_str())) || decides(&Value::Object(answer.clone()).to_string())
    });
    let said: Vec<Answer> = said.collect();
    said.iter().try_for_each(|answer| clear(answer, &Value::Object(answer.clone()).to_string()))?;
    Ok(said)
}

/// Fails when an object decides in words that are not the ones.
fn clear(answer: &Answer, text: &str) -> Result<(), Failure> {
    let plain = |key: &str| key.replace(['_', '-'], "").to_ascii_lowercase();
    let specific = answer.get("hookSpecificOutput").and_then(Value::as_object);
    for key in answer.keys().chain(specific.into_iter().flat_map(Map::keys)) {
        let meant = DECIDING.into_iter().find(|known| *known != key && plain(known) == plain(key));
        if let Some(meant) = meant {
            return Err(Failure::Json(format!("`{key}` is not known; write `{meant}`")));
        }
    }
    let is_known = answer.keys().any(|key| KNOWN.contains(&key.as_str()));
    match !is_known && decides(text) {
        true => Err(Failure::Json("its decision stands inside of something else; write it at the top".into())),
        false => Ok(()),
    }
}

/// The JSON objects in a text with where they begin, and everything else of it.
fn objects(text: &str) -> (Vec<(usize, Answer)>, String) {
    let (mut found, mut rest, mut at) = (Vec::new(), String::new(), 0);
    for _ in 0..TRIES {
        let Some(next) = text[at..].find('{').map(|next| at + next) else { break };
        rest.push_str(&text[at..next]);
        let mut values = serde_json::Deserializer::from_str(&text[next..]).into_iter::<Answer>();
        match values.next() {
            Some(Ok(answer)) => {
                found.push((next, answer));
                at = next + values.byte_offset();
            }
            Some(Err(_)) | None => {
                rest.push('{');
                at = next + 1;
            }
        }
    }
    rest.push_str(&text[at..]);
    (found, rest)
}

/// Whether a text may decide something.
fn decides(text: &str) -> bool {
    static WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let words = r#"(?i)permission_?decision["'\\]*\s*[:=]|["'](decision|behavior|continue)\\*["']\s*:"#;
        Regex::new(words).ok()
    });
    WORDS.as_ref().is_none_or(|words| words.is_match(text))
}
