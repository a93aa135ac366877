//! Slash commands over the API, and the fleet that a prompt starts.

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
    /// What may follow its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What it is made of.
    pub kind: SlashKind,
    /// Where it was written.
    pub source: String,
}

/// What a slash command is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SlashKind {
    /// It is part of the program.
    BuiltIn,
    /// It is part of the program, and only of use at a terminal.
    Screen,
    /// A file of the project, of the user or of a plugin.
    File,
    /// A skill.
    Skill,
}

/// The slash commands there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SlashList {
    /// The rows, those that are built in first.
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

/// What a slash command led to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum InvokeSlashResult {
    /// It tells something.
    Text {
        /// What it tells.
        text: String,
    },
    /// It is for the model: whoever asked sends the prompt with `session.send`.
    AgentPrompt {
        /// What the model is to be told.
        prompt: String,
        /// What people are to be shown in its place.
        display_prompt: String,
        /// The mode that the session is in from now on, if that is another.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<SessionMode>,
    },
    /// It is done.
    Completed {
        /// What it did.
        message: String,
        /// The mode that the session is in from now on, if that is another.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<SessionMode>,
    },
}

/// What a fleet is to do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FleetParams {
    /// The request; the todos that there are when absent.
    pub prompt: Option<String>,
}

/// Whether a fleet was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetResult {
    /// Always true: what was not started is an error.
    pub started: bool,
}
