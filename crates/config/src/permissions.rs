//! Permission modes and rules as written in files and flags.

use policy::{Rule, RuleError, RuleSource};
use protocol::{PermissionMode, RuleEffect};
use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

/// A mode, spelled as on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PermissionModeSetting(pub PermissionMode);

/// A valid rule, in its display form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleLine(String);

/// Reads the name of a mode.
pub fn parse_mode(text: &str) -> Result<PermissionMode, String> {
    let known = PermissionMode::ALL.into_iter().find(|mode| mode.as_str() == text);
    known.ok_or_else(|| {
        let names: Vec<&str> = PermissionMode::ALL.into_iter().map(PermissionMode::as_str).collect();
        format!("`{text}` is not a mode; write {}", names.join(", "))
    })
}

impl RuleLine {
    /// Reads a rule.
    pub fn parse(text: &str) -> Result<RuleLine, RuleError> {
        // The effect does not matter for the syntax.
        Rule::parse(RuleEffect::Deny, text, RuleSource::Flag).map(|rule| RuleLine(rule.text))
    }

    /// The tool it names, if there is no such tool.
    pub fn unknown_tool(&self) -> Option<String> {
        let rule = Rule::parse(RuleEffect::Deny, &self.0, RuleSource::Flag).ok()?;
        rule.unknown_tool().map(str::to_owned)
    }

    /// The rule.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for PermissionModeSetting {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        parse_mode(&String::deserialize(from)?).map(PermissionModeSetting).map_err(de::Error::custom)
    }
}

impl Serialize for PermissionModeSetting {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0.as_str())
    }
}

impl<'de> Deserialize<'de> for RuleLine {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        RuleLine::parse(&String::deserialize(from)?).map_err(de::Error::custom)
    }
}

impl Serialize for RuleLine {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}
