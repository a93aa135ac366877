//! The keys of a definition: each is taken once, and those left over are unknown.

use std::path::Path;

use super::node::{DocumentNode, NodeValue};
use super::{DefinitionProblem, FilePosition};

/// The keys of one definition, in any of the usual spellings.
pub(super) struct DefinitionFields<'a> {
    file: &'a Path,
    /// Prefix of messages that names the definition, if the file has several.
    message_prefix: String,
    /// Position of the definition.
    definition_position: Option<FilePosition>,
    entries: Vec<FieldEntry>,
    problems: &'a mut Vec<DefinitionProblem>,
    failed: bool,
}

struct FieldEntry {
    /// The key, in kebab case.
    key: String,
    position: Option<FilePosition>,
    value: DocumentNode,
}

impl<'a> DefinitionFields<'a> {
    /// Splits a table into entries; reports any other value as a problem.
    pub(super) fn new(
        file: &'a Path,
        name: Option<&str>,
        node: DocumentNode,
        problems: &'a mut Vec<DefinitionProblem>,
    ) -> Option<DefinitionFields<'a>> {
        let of = name.map_or_else(String::new, |name| format!("agent `{name}`: "));
        let mut fields = DefinitionFields {
            file,
            message_prefix: of,
            definition_position: node.at,
            entries: Vec::new(),
            problems,
            failed: false,
        };
        let table = match node.value {
            NodeValue::Table(table) => table,
            NodeValue::Nothing => Vec::new(),
            other => {
                let message = format!("expected keys and values, found {}", other.kind());
                fields.error(node.at, message, "write `key: value` lines");
                return None;
            }
        };
        for (key, value) in table {
            let (at, key) = (key.at.or(value.at), to_kebab_case(&key.to_key()));
            if fields.entries.iter().any(|known| known.key == key) {
                fields.error(at, format!("duplicate key `{key}`"), "remove one");
            } else {
                fields.entries.push(FieldEntry { key, position: at, value });
            }
        }
        Some(fields)
    }

    /// The position of a key, or of the definition if the key is absent.
    pub(super) fn position(&self, key: &str) -> Option<FilePosition> {
        self.entries.iter().find(|entry| entry.key == key).and_then(|entry| entry.position).or(self.definition_position)
    }

    /// Whether the key is present.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key && entry.value.value != NodeValue::Nothing)
    }

    /// Takes the first of these keys that is present and not empty.
    pub(super) fn take(&mut self, keys: &[&str]) -> Option<(Option<FilePosition>, DocumentNode)> {
        let mut taken = None;
        for key in keys {
            let Some(index) = self.entries.iter().position(|entry| entry.key == *key) else { continue };
            let FieldEntry { position: at, value, .. } = self.entries.remove(index);
            match (&taken, &value.value) {
                (_, NodeValue::Nothing) => {}
                (None, _) => taken = Some((at, value)),
                (Some(_), _) => self.warning(at, format!("`{key}` repeats `{}`", keys[0]), "remove one"),
            }
        }
        taken
    }

    /// Takes a string. A number counts as one.
    pub(super) fn text(&mut self, keys: &[&str]) -> Option<String> {
        let (at, node) = self.take(keys)?;
        match node.value {
            NodeValue::Text(text) => Some(text),
            NodeValue::Number(number) => Some(number.to_string()),
            other @ (NodeValue::Nothing | NodeValue::Flag(_) | NodeValue::List(_) | NodeValue::Table(_)) => {
                self.wrong_type(at, keys, &other, "a string");
                None
            }
        }
    }

    /// Takes a list of strings, or a comma-separated string; each with its position.
    pub(super) fn texts(&mut self, keys: &[&str]) -> Option<Vec<(String, Option<FilePosition>)>> {
        let (at, node) = self.take(keys)?;
        match node.value {
            NodeValue::Text(text) => Some(split_list(&text).into_iter().map(|part| (part, node.at.or(at))).collect()),
            NodeValue::List(list) => {
                let mut texts = Vec::new();
                for item in list {
                    match item.value {
                        NodeValue::Text(text) => texts.push((text.trim().to_owned(), item.at.or(at))),
                        NodeValue::Number(number) => texts.push((number.to_string(), item.at.or(at))),
                        other
                        @ (NodeValue::Nothing | NodeValue::Flag(_) | NodeValue::List(_) | NodeValue::Table(_)) => {
                            self.wrong_type(item.at.or(at), keys, &other, "a string in each entry");
                        }
                    }
                }
                Some(texts)
            }
            other @ (NodeValue::Nothing | NodeValue::Flag(_) | NodeValue::Number(_) | NodeValue::Table(_)) => {
                self.wrong_type(at, keys, &other, "a list of strings");
                None
            }
        }
    }

    /// Takes a boolean, or a string that means one.
    pub(super) fn flag(&mut self, keys: &[&str]) -> Option<bool> {
        let (at, node) = self.take(keys)?;
        match node.value {
            NodeValue::Flag(flag) => Some(flag),
            NodeValue::Text(text) if matches!(text.as_str(), "true" | "yes" | "on") => Some(true),
            NodeValue::Text(text) if matches!(text.as_str(), "false" | "no" | "off") => Some(false),
            other => {
                self.wrong_type(at, keys, &other, "true or false");
                None
            }
        }
    }

    /// Takes a whole number above 0.
    pub(super) fn count(&mut self, keys: &[&str]) -> Option<u32> {
        let (at, node) = self.take(keys)?;
        let number = match &node.value {
            NodeValue::Number(number) => number.as_u64().and_then(|number| u32::try_from(number).ok()),
            NodeValue::Text(text) => text.trim().parse().ok(),
            NodeValue::Nothing | NodeValue::Flag(_) | NodeValue::List(_) | NodeValue::Table(_) => None,
        };
        let number = number.filter(|number| *number > 0);
        if number.is_none() {
            self.wrong_type(at, keys, &node.value, "a whole number above 0");
        }
        number
    }

    /// Reports the remaining keys as unknown, except for the harmless ones. Returns whether the definition is usable.
    pub(super) fn finish(mut self, known: &[&str], harmless: &[&str], unsupported: &[&str]) -> bool {
        for FieldEntry { key, position: at, .. } in std::mem::take(&mut self.entries) {
            if harmless.contains(&key.as_str()) || known.contains(&key.as_str()) {
                continue;
            }
            if unsupported.contains(&key.as_str()) {
                let message = format!("`{key}` is not supported in this version");
                self.warning(at, message, "leave it out; the rest is used without it");
                continue;
            }
            let remedy = match nearest(&key, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "remove it, or see docs/agents.md for the keys".to_owned(),
            };
            self.warning(at, format!("unknown key `{key}`"), remedy);
        }
        !self.failed
    }

    /// Reports a problem that makes the definition unusable.
    pub(super) fn error(&mut self, at: Option<FilePosition>, message: impl Into<String>, remedy: impl Into<String>) {
        self.failed = true;
        let message = format!("{}{}", self.message_prefix, message.into());
        self.problems.push(DefinitionProblem::error(self.file, message, remedy).at(at));
    }

    /// Reports a part of the definition that is ignored.
    pub(super) fn warning(&mut self, at: Option<FilePosition>, message: impl Into<String>, remedy: impl Into<String>) {
        let message = format!("{}{}", self.message_prefix, message.into());
        self.problems.push(DefinitionProblem::warning(self.file, message, remedy).at(at));
    }

    fn wrong_type(&mut self, at: Option<FilePosition>, keys: &[&str], value: &NodeValue, wanted: &str) {
        let key = keys.first().copied().unwrap_or_default();
        self.error(at, format!("`{key}` is {}", value.kind()), format!("write {wanted}"));
    }
}

/// The known word nearest to a misspelled one, if it is near enough.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    const MAX_EDITS: usize = 3;
    let word = word.to_ascii_lowercase();
    let distance = |known: &str| strsim::damerau_levenshtein(&word, &known.to_ascii_lowercase());
    let near = known.iter().map(|known| (distance(known), *known)).min()?;
    (near.0 <= MAX_EDITS.min(word.chars().count() / 2)).then_some(near.1)
}

/// Splits a text at commas, but not inside parentheses.
fn split_list(text: &str) -> Vec<String> {
    let (mut parts, mut part, mut open) = (Vec::new(), String::new(), 0_u32);
    for c in text.chars() {
        match c {
            '(' => open += 1,
            ')' => open = open.saturating_sub(1),
            _other => {}
        }
        if c == ',' && open == 0 {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(c);
        }
    }
    parts.push(part);
    parts.into_iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// Converts a key to kebab case.
fn to_kebab_case(key: &str) -> String {
    let mut kebab = String::new();
    for c in key.trim().chars() {
        match c {
            '_' | ' ' => kebab.push('-'),
            upper if upper.is_ascii_uppercase() => {
                if !kebab.is_empty() && !kebab.ends_with('-') {
                    kebab.push('-');
                }
                kebab.push(upper.to_ascii_lowercase());
            }
            other => kebab.push(other),
        }
    }
    kebab
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_normalised_and_lists_are_split() {
        assert_eq!(
            ["disallowedTools", "max_turns", "Name", "mcp-servers"].map(to_kebab_case),
            ["disallowed-tools", "max-turns", "name", "mcp-servers"]
        );
        assert_eq!(split_list("Read, Agent(a, b),,Bash "), ["Read", "Agent(a, b)", "Bash"]);
        assert_eq!(nearest("discription", &["name", "description"]), Some("description"));
        assert_eq!(nearest("zzz", &["name", "description"]), None);
    }
}
