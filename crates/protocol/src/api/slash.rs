//! API types for slash commands, and for a fleet started by a prompt.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SessionMode;

/// A slash command as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SlashView {
    /// What follows the slash.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The arguments that may follow its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Its kind.
    pub kind: SlashKind,
    /// Where it is defined.
    pub source: String,
}

/// The kind of a slash command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SlashKind {
    /// It is part of the program.
    BuiltIn,
    /// It is part of the program, and useful only at a terminal.
    Screen,
    /// A file of the project, of the user or of a plugin.
    File,
    /// A skill.
    Skill,
}

/// All slash commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SlashList {
    /// The commands, built-in ones first.
    pub commands: Vec<SlashView>,
}

/// A slash command to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InvokeSlashParams {
    /// Its name, with the slash or without.
    pub name: String,
    /// What follows the name.
    #[serde(default)]
    pub input: String,
}

/// The result of a slash command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum InvokeSlashResult {
    /// It returned a text.
    Text {
        /// The text.
        text: String,
    },
    /// It is for the model: the client sends the prompt with `session.send`.
    AgentPrompt {
        /// The prompt for the model.
        prompt: String,
        /// The text to show to the user instead.
        display_prompt: String,
        /// The session's new mode, if it changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<SessionMode>,
    },
    /// It is done.
    Completed {
        /// What it did.
        message: String,
        /// The session's new mode, if it changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<SessionMode>,
    },
    /// It started a fleet, which works until its todos are done.
    FleetStarted {
        /// What the fleet is to do.
        message: String,
    },
}
