//! One todo of a plan.

use std::collections::BTreeSet;

use protocol::{Todo, TodoId};
use serde_json::Value;

use super::keys::{Located, PlanKeys, PlanProblems};
use super::lengths::{
    MAX_COMMAND_BYTES, MAX_DESCRIPTION_BYTES, MAX_ID_BYTES, MAX_PATTERN_BYTES, MAX_PATTERNS, MAX_SCHEMA_BYTES,
    MAX_TITLE_BYTES, MAX_WORD_BYTES,
};
use crate::catalog::{DocumentNode, FilePosition};

/// The keys of a todo.
pub(super) const TODO_KEYS: [&str; 10] =
    ["id", "title", "description", "depends_on", "agent", "agent_type", "model", "files", "check", "expects"];

/// Defaults for todos.
#[derive(Debug, Default)]
pub(super) struct TodoDefaults {
    pub(super) agent: Option<Located<String>>,
    pub(super) model: Option<Located<String>>,
}

/// The positions of the parts of a todo that are checked later.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TodoPositions {
    pub(super) id: Option<FilePosition>,
    pub(super) depends_on: Vec<Option<FilePosition>>,
    pub(super) agent: Option<Located<String>>,
    pub(super) model: Option<Located<String>>,
    pub(super) files: Vec<Option<FilePosition>>,
    pub(super) expects: Option<Located<Value>>,
}

/// Reads one todo and adds its problems to the report; returns `None` if it has no valid id.
pub(super) fn read(
    number: usize,
    node: DocumentNode,
    defaults: &TodoDefaults,
    report: &mut PlanProblems,
) -> Option<(Todo, TodoPositions)> {
    let mut keys = PlanKeys::new(format!("todo {number}: "), node, report);
    let at = keys.at();
    let id = id(&mut keys);
    if let Some(id) = &id {
        keys.set_prefix(format!("todo `{}`: ", id.value));
    }
    let title = title(&mut keys);
    let description = keys.text("description", MAX_DESCRIPTION_BYTES).map(|text| text.value.trim_end().to_owned());
    let (depends_on, depends_at) = split_positions(keys.texts("depends_on"));
    let agent = agent(&mut keys).or_else(|| defaults.agent.clone());
    let model = keys.text("model", MAX_WORD_BYTES).or_else(|| defaults.model.clone());
    let (files, files_at) = split_positions(files(&mut keys));
    let check = keys.text("check", MAX_COMMAND_BYTES).map(|check| check.value.trim().to_owned());
    let expects = expects(&mut keys);
    keys.finish(&TODO_KEYS);
    let id = id?;
    let todo = Todo {
        depends_on: depends_on.into_iter().map(TodoId).collect(),
        description,
        agent_type: agent.as_ref().map(|agent| agent.value.clone()),
        model: model.as_ref().map(|model| model.value.clone()),
        files,
        check,
        expects: expects.as_ref().map(|schema| schema.value.to_string()),
        ..Todo::new(id.value, title.unwrap_or_default())
    };
    let places = TodoPositions { id: id.at.or(at), depends_on: depends_at, agent, model, files: files_at, expects };
    Some((todo, places))
}

/// Removes duplicates, and splits texts from positions.
fn split_positions(texts: Vec<Located<String>>) -> (Vec<String>, Vec<Option<FilePosition>>) {
    let mut seen = BTreeSet::new();
    let texts = texts.into_iter().map(|text| (text.value.trim().to_owned(), text.at));
    texts.filter(|(text, _)| seen.insert(text.clone())).unzip()
}

fn id(keys: &mut PlanKeys<'_>) -> Option<Located<String>> {
    let id = required_text(keys, "id", MAX_ID_BYTES, "a short name that is unique in the plan")?;
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':');
    if !id.value.chars().all(fits) {
        let message = format!("`{}` is not an id", id.value);
        keys.error(id.at, message, "use letters, digits, `-`, `_`, `.`, `/` and `:`");
        return None;
    }
    Some(id)
}

fn title(keys: &mut PlanKeys<'_>) -> Option<String> {
    let title = required_text(keys, "title", MAX_TITLE_BYTES, "the work to be done, in one line")?;
    let value = title.value.trim().to_owned();
    if value.contains('\n') {
        keys.error(title.at, "`title` has several lines", "keep the first, and put the rest into `description`");
    }
    Some(value)
}

/// Takes a required string.
fn required_text(keys: &mut PlanKeys<'_>, key: &str, max_bytes: usize, what: &str) -> Option<Located<String>> {
    let before = keys.report.problems.len();
    let text = keys.text(key, max_bytes);
    // An unusable value has already been reported.
    if text.is_none() && keys.report.problems.len() == before {
        let at = keys.at();
        keys.error(at, format!("it has no `{key}`"), format!("add `{key}`: {what}"));
    }
    text
}

fn agent(keys: &mut PlanKeys<'_>) -> Option<Located<String>> {
    let (agent, alias) = (keys.text("agent", MAX_WORD_BYTES), keys.text("agent_type", MAX_WORD_BYTES));
    if let (Some(_), Some(alias)) = (&agent, &alias) {
        keys.error(alias.at, "`agent_type` repeats `agent`", "remove one");
    }
    agent.or(alias)
}

fn files(keys: &mut PlanKeys<'_>) -> Vec<Located<String>> {
    let files = keys.texts("files");
    if files.len() > MAX_PATTERNS {
        let at = files.get(MAX_PATTERNS).and_then(|file| file.at);
        keys.error(at, format!("`files` has more than {MAX_PATTERNS} patterns"), "name folders instead of files");
    }
    if let Some(long) = files.iter().find(|file| file.value.len() > MAX_PATTERN_BYTES) {
        let at = long.at;
        keys.error(at, format!("a pattern of `files` has more than {MAX_PATTERN_BYTES} bytes"), "shorten it");
    }
    files
}

fn expects(keys: &mut PlanKeys<'_>) -> Option<Located<Value>> {
    let node = keys.take("expects")?;
    let at = node.at;
    let value = node.to_json();
    if !value.is_object() {
        keys.error(at, "`expects` is not a table", "write a JSON Schema, such as `{ type: object }`");
        return None;
    }
    if value.to_string().len() > MAX_SCHEMA_BYTES {
        keys.error(at, format!("`expects` has more than {MAX_SCHEMA_BYTES} bytes"), "shorten the schema");
        return None;
    }
    Some(Located { value, at })
}
