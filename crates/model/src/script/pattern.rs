//! Regular expressions of a script, compiled when the file is read.

use regex::{Captures, Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

/// Maximum bytes of a compiled expression.
const MAX_COMPILED_BYTES: usize = 512 << 10;

/// A regular expression that may match anywhere in a text.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("format" = "regex"))]
pub(super) struct TextRegex(Regex);

impl TextRegex {
    /// The groups of the first match in `text`.
    pub(super) fn find(&self, text: &str) -> Option<CaptureGroups> {
        self.0.captures(text).map(CaptureGroups::from)
    }

    /// The number of groups.
    pub(super) fn groups(&self) -> usize {
        self.0.captures_len() - 1
    }
}

impl TryFrom<String> for TextRegex {
    type Error = RegexError;

    fn try_from(expression: String) -> Result<TextRegex, RegexError> {
        compile(&expression).map(TextRegex)
    }
}

/// A regular expression that must match a whole name.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("format" = "regex"))]
pub(super) struct NameRegex(TextRegex);

impl NameRegex {
    /// A pattern that matches only `name`.
    pub(super) fn exactly(name: &str) -> Result<NameRegex, RegexError> {
        NameRegex::try_from(regex::escape(name))
    }

    /// The groups of `name`, when all of it matches.
    pub(super) fn find(&self, name: &str) -> Option<CaptureGroups> {
        self.0.find(name)
    }

    /// The number of groups.
    pub(super) fn groups(&self) -> usize {
        self.0.groups()
    }
}

impl TryFrom<String> for NameRegex {
    type Error = RegexError;

    fn try_from(expression: String) -> Result<NameRegex, RegexError> {
        // Compiled alone first: `a)(b` must not become valid by wrapping.
        compile(&expression)?;
        compile(&format!("^(?:{expression})$")).map(TextRegex).map(NameRegex)
    }
}

fn compile(expression: &str) -> Result<Regex, RegexError> {
    RegexBuilder::new(expression).size_limit(MAX_COMPILED_BYTES).build().map_err(|error| RegexError {
        expression: expression.into(),
        // The crate's message quotes the pattern over several lines; the last line names the error.
        why: error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").into(),
    })
}

/// Why a text is not a usable regular expression.
#[derive(Debug, thiserror::Error)]
#[error("`{expression}` is not a usable regular expression: {why}")]
pub(super) struct RegexError {
    expression: String,
    why: String,
}

/// The groups of a match; a group that took no part is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CaptureGroups(Vec<String>);

impl CaptureGroups {
    /// The text of group `number`, counted from 1.
    pub(super) fn get(&self, number: usize) -> &str {
        number.checked_sub(1).and_then(|index| self.0.get(index)).map_or("", String::as_str)
    }

    /// Replaces these by `other` unless they captured something.
    pub(super) fn or_replace_with(&mut self, other: CaptureGroups) {
        if self.0.is_empty() {
            *self = other;
        }
    }
}

impl From<Captures<'_>> for CaptureGroups {
    fn from(captures: Captures<'_>) -> CaptureGroups {
        let text = |group: Option<regex::Match<'_>>| group.map_or(String::new(), |found| found.as_str().to_owned());
        CaptureGroups(captures.iter().skip(1).map(text).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_found_anywhere_and_a_name_matches_whole() {
        let pattern = TextRegex::try_from("a(b)?(c)".to_owned()).unwrap();
        let groups = pattern.find("xxacxx").unwrap();
        assert_eq!((groups.get(0), groups.get(1), groups.get(2), groups.get(3)), ("", "", "c", ""));

        let name = NameRegex::try_from("main|explore".to_owned()).unwrap();
        assert!(name.find("main").is_some() && name.find("explore").is_some());
        assert!(name.find("maintain").is_none() && name.find("re-explore").is_none() && name.find("main\n").is_none());
    }

    #[test]
    fn an_invalid_expression_is_not_made_valid_by_wrapping() {
        assert!(NameRegex::try_from("a)(b".to_owned()).is_err());
        assert!(NameRegex::exactly("a)(b").unwrap().find("a)(b").is_some());
    }

    #[test]
    fn an_expression_that_would_compile_to_megabytes_is_refused() {
        assert!(TextRegex::try_from(r"(\w{500}){500}".to_owned()).is_err());
    }
}
