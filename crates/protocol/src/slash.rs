//! Slash commands defined in files.

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
    /// The arguments that may follow its name, as shown to the user.
    pub hint: Option<String>,
    /// The file that holds it.
    pub file: String,
    /// The agent that runs it; the root when absent.
    pub agent: Option<String>,
    /// Tools that it says it needs, as written; they grant no permission.
    pub allowed_tools: Vec<String>,
    /// Where it is defined.
    pub source: DefinitionSource,
}

/// A command that works only in a terminal, which performs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalCommand {
    /// Shows or changes the permission mode.
    Mode,
    /// Lists what waits for a decision.
    Approvals,
    /// Shows a call in full.
    Show,
    /// Lists sessions, or resumes one.
    Resume,
    /// Starts a new session.
    New,
    /// Leaves, and lets the session continue in the background.
    Background,
    /// Lists the keyboard shortcuts.
    Keys,
    /// Leaves Bosun.
    Exit,
}
