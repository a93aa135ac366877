//! The keys of one table of a plan: each is taken once, and those left over are unknown.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::catalog::{DefinitionProblem, DocumentNode, FilePosition, NodeValue, nearest};

/// A value and its position in the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Located<T> {
    pub(super) value: T,
    pub(super) at: Option<FilePosition>,
}

/// The problems found in a plan so far.
#[derive(Debug)]
pub(super) struct PlanProblems {
    pub(super) file: PathBuf,
    pub(super) problems: Vec<DefinitionProblem>,
}

impl PlanProblems {
    pub(super) fn new(file: &Path) -> PlanProblems {
        PlanProblems { file: file.to_owned(), problems: Vec::new() }
    }

    pub(super) fn error(&mut self, at: Option<FilePosition>, message: impl Into<String>, remedy: impl Into<String>) {
        self.problems.push(DefinitionProblem::error(&self.file, message, remedy).at(at));
    }
}

/// The keys of a table.
pub(super) struct PlanKeys<'a> {
    /// Prefix of messages that names the table.
    message_prefix: String,
    at: Option<FilePosition>,
    entries: Vec<(Located<String>, DocumentNode)>,
    pub(super) report: &'a mut PlanProblems,
}

impl<'a> PlanKeys<'a> {
    /// Splits a table into entries; reports any other value, which has no keys.
    pub(super) fn new(of: impl Into<String>, node: DocumentNode, report: &'a mut PlanProblems) -> PlanKeys<'a> {
        let mut keys = PlanKeys { message_prefix: of.into(), at: node.at, entries: Vec::new(), report };
        match node.value {
            NodeValue::Table(table) => keys.entries.extend(table.into_iter().map(|(key, value)| {
                let at = key.at.or(value.at);
                (Located { value: key.to_key(), at }, value)
            })),
            other => keys.expected_table(node.at, &other, "`key: value` lines"),
        }
        keys
    }

    /// The table's position.
    pub(super) fn at(&self) -> Option<FilePosition> {
        self.at
    }

    /// Sets the prefix of messages.
    pub(super) fn set_prefix(&mut self, of: String) {
        self.message_prefix = of;
    }

    /// Takes a key. A key without a value is an error.
    pub(super) fn take(&mut self, key: &str) -> Option<DocumentNode> {
        let place = self.entries.iter().position(|(known, _)| known.value == key)?;
        let (known, node) = self.entries.swap_remove(place);
        let node = DocumentNode { at: node.at.or(known.at), ..node };
        if node.value == NodeValue::Nothing {
            self.error(node.at, format!("`{key}` has no value"), "give it a value, or leave it out");
            return None;
        }
        Some(node)
    }

    /// Takes a string of at most `most` bytes. A number counts as one.
    pub(super) fn text(&mut self, key: &str, max_bytes: usize) -> Option<Located<String>> {
        let node = self.take(key)?;
        let value = match node.value {
            NodeValue::Text(text) => text,
            NodeValue::Number(number) => number.to_string(),
            other => {
                self.wrong_type(node.at, key, &other, "a string");
                return None;
            }
        };
        if value.len() > max_bytes {
            let message = format!("`{key}` has {} bytes; the limit is {max_bytes}", value.len());
            self.error(node.at, message, "shorten it; put the rest into a file for agents to read");
            return None;
        }
        if value.trim().is_empty() {
            self.error(node.at, format!("`{key}` is empty"), "write something, or leave it out");
            return None;
        }
        Some(Located { value, at: node.at })
    }

    /// Takes a list of strings, or one string.
    pub(super) fn texts(&mut self, key: &str) -> Vec<Located<String>> {
        let Some(node) = self.take(key) else { return Vec::new() };
        let items = match node.value {
            NodeValue::List(items) => items,
            value => vec![DocumentNode { at: node.at, value }],
        };
        let mut texts = Vec::new();
        for item in items {
            let at = item.at.or(node.at);
            match item.value {
                NodeValue::Text(value) => texts.push(Located { value, at }),
                NodeValue::Number(number) => texts.push(Located { value: number.to_string(), at }),
                other => self.wrong_type(at, key, &other, "a list of strings"),
            }
        }
        texts
    }

    /// Takes true or false.
    pub(super) fn flag(&mut self, key: &str) -> Option<bool> {
        let node = self.take(key)?;
        match node.value {
            NodeValue::Flag(flag) => Some(flag),
            other => {
                self.wrong_type(node.at, key, &other, "`true` or `false`");
                None
            }
        }
    }

    /// Takes a whole number in this range.
    pub(super) fn count(&mut self, key: &str, range: RangeInclusive<u32>) -> Option<u32> {
        let node = self.take(key)?;
        let number = match &node.value {
            NodeValue::Number(number) => number.as_u64().and_then(|number| u32::try_from(number).ok()),
            NodeValue::Nothing | NodeValue::Flag(_) | NodeValue::Text(_) | NodeValue::List(_) | NodeValue::Table(_) => {
                None
            }
        };
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            let wanted = format!("a whole number from {} to {}", range.start(), range.end());
            self.wrong_type(node.at, key, &node.value, &wanted);
        }
        number
    }

    /// Takes a number or a string and parses it with `read`, whose error is the message.
    pub(super) fn parse<T>(&mut self, key: &str, read: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        let text = self.text(key, super::lengths::MAX_WORD_BYTES)?;
        match read(text.value.trim()) {
            Ok(value) => Some(value),
            Err(message) => {
                self.error(text.at, message, format!("correct `{key}`"));
                None
            }
        }
    }

    /// Reports the remaining keys as unknown or duplicate.
    pub(super) fn finish(mut self, known: &[&str]) {
        for (key, _) in std::mem::take(&mut self.entries) {
            if known.contains(&key.value.as_str()) {
                self.error(key.at, format!("duplicate key `{}`", key.value), "remove one");
                continue;
            }
            let remedy = match nearest(&key.value, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known keys: {}", known.join(", ")),
            };
            self.error(key.at, format!("unknown key `{}`", key.value), remedy);
        }
    }

    pub(super) fn error(&mut self, at: Option<FilePosition>, message: impl Into<String>, remedy: impl Into<String>) {
        let message = format!("{}{}", self.message_prefix, message.into());
        self.report.error(at, message, remedy);
    }

    fn expected_table(&mut self, at: Option<FilePosition>, value: &NodeValue, wanted: &str) {
        self.error(at, format!("expected a table, found {}", value.kind()), format!("write {wanted}"));
    }

    fn wrong_type(&mut self, at: Option<FilePosition>, key: &str, value: &NodeValue, wanted: &str) {
        let shown = match value {
            NodeValue::Number(number) => number.to_string(),
            other => other.kind().to_owned(),
        };
        self.error(at, format!("`{key}` is {shown}"), format!("write {wanted}"));
    }
}
