//! The state of reading a hook file.

use std::path::PathBuf;

use protocol::HookSpec;
use serde_json::Value;

use super::position::JsonPositions;
use crate::{HookProblem, TextPosition};

/// Minimum similarity of two names for a suggestion.
const MIN_SIMILARITY: f64 = 0.85;

/// The file being read, and what was found so far.
pub(super) struct HookFileReader<'a> {
    pub(super) file: &'a str,
    /// The folder of the plugin that it belongs to.
    pub(super) plugin: Option<PathBuf>,
    pub(super) positions: JsonPositions,
    pub(super) hooks: Vec<HookSpec>,
    pub(super) problems: Vec<HookProblem>,
}

impl HookFileReader<'_> {
    pub(super) fn report_problem(&mut self, path: &str, message: impl Into<String>, remedy: impl Into<String>) {
        let at = self.positions.position_of(path);
        self.problems.push(HookProblem {
            file: self.file.to_owned(),
            position: at,
            message: message.into(),
            remedy: remedy.into(),
        });
    }

    /// The position of a value, for people.
    pub(super) fn source(&self, path: &str) -> String {
        match self.positions.position_of(path) {
            Some(TextPosition { line, .. }) => format!("{}:{line}", self.file),
            None => format!("{} at {}", self.file, path.trim_start_matches('/').replace('/', ".")),
        }
    }

    /// Reports the unknown fields of an object.
    pub(super) fn report_unknown_fields(&mut self, path: &str, value: &Value, known: &[&str]) {
        /// Fields that people write for themselves.
        const REMARKS: [&str; 7] = ["description", "name", "comment", "$schema", "statusMessage", "id", "version"];
        let Value::Object(fields) = value else { return };
        for name in fields.keys() {
            if known.contains(&name.as_str()) || REMARKS.contains(&name.as_str()) || name.starts_with('_') {
                continue;
            }
            let scored = known.iter().map(|known| (strsim::jaro_winkler(name, known), *known));
            let meant = scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(score, _)| *score >= MIN_SIMILARITY);
            let remedy = meant.map_or("remove it".into(), |(_, meant)| format!("did you mean `{meant}`?"));
            self.report_problem(&format!("{path}/{name}"), format!("`{name}` is not a field of a hook"), remedy);
        }
    }
}

/// The kind of value, for messages.
pub(super) fn value_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
