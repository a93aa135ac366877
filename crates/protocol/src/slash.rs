//! Slash commands that people write as files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::DefinitionSource;

/// A slash command that a file defines. Its text is read when it is called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SlashSpec {
    /// What follows the slash: lower case letters, digits and `-`, with `:` after the folder or plugin it is in.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What may follow its name, as people are told.
    pub hint: Option<String>,
    /// The file that holds it.
    pub file: String,
    /// The agent that performs it; the session's own when absent.
    pub agent: Option<String>,
    /// Tools that it says it needs, in its own words; they allow nothing.
    pub allowed_tools: Vec<String>,
    /// Where it was written.
    pub source: DefinitionSource,
}
