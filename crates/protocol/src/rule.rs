//! Permission modes, and permission rules as people write them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What happens to tool calls that no rule matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    /// Reading is allowed; everything else is asked.
    #[default]
    #[serde(alias = "readOnly")]
    Default,
    /// As `Default`, and files of the workspace may be changed.
    AcceptEdits,
    /// Reading is allowed; everything else is denied.
    Plan,
    /// Everything is allowed.
    AllowAll,
}

impl PermissionMode {
    /// Every mode.
    pub const ALL: [PermissionMode; 4] =
        [PermissionMode::Default, PermissionMode::AcceptEdits, PermissionMode::Plan, PermissionMode::AllowAll];

    /// The name used in flags and files.
    pub fn as_str(self) -> &'static str {
        match self {
            PermissionMode::Default => "default",
            PermissionMode::AcceptEdits => "accept-edits",
            PermissionMode::Plan => "plan",
            PermissionMode::AllowAll => "allow-all",
        }
    }

    /// Whether it allows less than another.
    pub fn is_narrower(self, other: PermissionMode) -> bool {
        let width = |mode| match mode {
            PermissionMode::Plan => 0,
            PermissionMode::Default => 1,
            PermissionMode::AcceptEdits => 2,
            PermissionMode::AllowAll => 3,
        };
        width(self) < width(other)
    }
}

impl fmt::Display for PermissionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a rule does with the calls it matches. The strongest matching rule decides: deny, then ask, then allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RuleEffect {
    /// They may run.
    Allow,
    /// The user is asked.
    Ask,
    /// They may not run.
    Deny,
}

impl RuleEffect {
    /// The effect in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            RuleEffect::Allow => "allow",
            RuleEffect::Ask => "ask",
            RuleEffect::Deny => "deny",
        }
    }
}

/// A rule as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleText {
    /// What it does with the calls it matches.
    pub effect: RuleEffect,
    /// Which calls it matches, such as `shell(git *)`.
    pub rule: String,
}
