//! The keys of one table of a plan: each is taken once, and what nobody took is unknown.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::catalog::{Node, Problem, Spot, Value, nearest};

/// A value and its place in the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Placed<T> {
    pub(super) value: T,
    pub(super) at: Option<Spot>,
}

/// What is wrong with a plan so far.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) file: PathBuf,
    pub(super) problems: Vec<Problem>,
}

impl Report {
    pub(super) fn new(file: &Path) -> Report {
        Report { file: file.to_owned(), problems: Vec::new() }
    }

    pub(super) fn error(&mut self, at: Option<Spot>, words: impl Into<String>, remedy: impl Into<String>) {
        self.problems.push(Problem::error(&self.file, words, remedy).at(at));
    }
}

/// The keys of a table.
pub(super) struct Keys<'a> {
    /// Says of which table the problems speak.
    of: String,
    at: Option<Spot>,
    entries: Vec<(Placed<String>, Node)>,
    pub(super) report: &'a mut Report,
}

impl<'a> Keys<'a> {
    /// Takes a table apart; anything else is a problem, and has no keys.
    pub(super) fn new(of: impl Into<String>, node: Node, report: &'a mut Report) -> Keys<'a> {
        let mut keys = Keys { of: of.into(), at: node.at, entries: Vec::new(), report };
        match node.value {
            Value::Table(table) => keys.entries.extend(table.into_iter().map(|(key, value)| {
                let at = key.at.or(value.at);
                (Placed { value: key.to_key(), at }, value)
            })),
            other => keys.wrong(node.at, &other, "`key: value` lines"),
        }
        keys
    }

    /// Where the table stands.
    pub(super) fn at(&self) -> Option<Spot> {
        self.at
    }

    /// Names the table by what was found in it.
    pub(super) fn call(&mut self, of: String) {
        self.of = of;
    }

    /// Takes a key; without a value it says nothing, which is a mistake.
    pub(super) fn take(&mut self, key: &str) -> Option<Node> {
        let place = self.entries.iter().position(|(known, _)| known.value == key)?;
        let (known, node) = self.entries.swap_remove(place);
        let node = Node { at: node.at.or(known.at), ..node };
        if node.value == Value::Nothing {
            self.error(node.at, format!("`{key}` says nothing"), "give it a value, or leave it out");
            return None;
        }
        Some(node)
    }

    /// Takes a text of at most so many bytes. A number is what people meant as one.
    pub(super) fn text(&mut self, key: &str, most: usize) -> Option<Placed<String>> {
        let node = self.take(key)?;
        let value = match node.value {
            Value::Text(text) => text,
            Value::Number(number) => number.to_string(),
            other => {
                self.wrong_key(node.at, key, &other, "a text");
                return None;
            }
        };
        if value.len() > most {
            let words = format!("`{key}` has {} bytes, and at most {most} are taken", value.len());
            self.error(node.at, words, "shorten it; a file that agents read can hold the rest");
            return None;
        }
        if value.trim().is_empty() {
            self.error(node.at, format!("`{key}` is empty"), "write something, or leave it out");
            return None;
        }
        Some(Placed { value, at: node.at })
    }

    /// Takes a list of texts, or one text.
    pub(super) fn texts(&mut self, key: &str) -> Vec<Placed<String>> {
        let Some(node) = self.take(key) else { return Vec::new() };
        let items = match node.value {
            Value::List(items) => items,
            value => vec![Node { at: node.at, value }],
        };
        let mut texts = Vec::new();
        for item in items {
            let at = item.at.or(node.at);
            match item.value {
                Value::Text(value) => texts.push(Placed { value, at }),
                Value::Number(number) => texts.push(Placed { value: number.to_string(), at }),
                other => self.wrong_key(at, key, &other, "a list of texts"),
            }
        }
        texts
    }

    /// Takes true or false.
    pub(super) fn flag(&mut self, key: &str) -> Option<bool> {
        let node = self.take(key)?;
        match node.value {
            Value::Flag(flag) => Some(flag),
            other => {
                self.wrong_key(node.at, key, &other, "`true` or `false`");
                None
            }
        }
    }

    /// Takes a whole number of this range.
    pub(super) fn count(&mut self, key: &str, range: RangeInclusive<u32>) -> Option<u32> {
        let node = self.take(key)?;
        let number = match &node.value {
            Value::Number(number) => number.as_u64().and_then(|number| u32::try_from(number).ok()),
            Value::Nothing | Value::Flag(_) | Value::Text(_) | Value::List(_) | Value::Table(_) => None,
        };
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            let wanted = format!("a whole number from {} to {}", range.start(), range.end());
            self.wrong_key(node.at, key, &node.value, &wanted);
        }
        number
    }

    /// Takes a number or a text and reads it with `read`, whose words say what is wrong.
    pub(super) fn read<T>(&mut self, key: &str, read: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        let text = self.text(key, super::lengths::WORD)?;
        match read(text.value.trim()) {
            Ok(value) => Some(value),
            Err(words) => {
                self.error(text.at, words, format!("correct `{key}`"));
                None
            }
        }
    }

    /// Says of every key that nobody took that it is unknown.
    pub(super) fn finish(mut self, known: &[&str]) {
        for (key, _) in std::mem::take(&mut self.entries) {
            if known.contains(&key.value.as_str()) {
                self.error(key.at, format!("the key `{}` is here twice", key.value), "remove one");
                continue;
            }
            let remedy = match nearest(&key.value, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are: {}", known.join(", ")),
            };
            self.error(key.at, format!("the key `{}` is unknown", key.value), remedy);
        }
    }

    pub(super) fn error(&mut self, at: Option<Spot>, words: impl Into<String>, remedy: impl Into<String>) {
        let words = format!("{}{}", self.of, words.into());
        self.report.error(at, words, remedy);
    }

    fn wrong(&mut self, at: Option<Spot>, value: &Value, wanted: &str) {
        self.error(at, format!("{} stands where a table belongs", value.kind()), format!("write {wanted}"));
    }

    fn wrong_key(&mut self, at: Option<Spot>, key: &str, value: &Value, wanted: &str) {
        let shown = match value {
            Value::Number(number) => number.to_string(),
            other => other.kind().to_owned(),
        };
        self.error(at, format!("`{key}` is {shown}"), format!("write {wanted}"));
    }
}
