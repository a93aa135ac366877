//! API types for the catalogue: agents, skills, slash commands and plugins.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentSpec, DefinitionSource, SkillSpec, SlashSpec};

/// All definitions that apply in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogView {
    /// The agents.
    pub agents: Vec<DefinitionView>,
    /// The skills.
    pub skills: Vec<DefinitionView>,
    /// The slash commands.
    pub commands: Vec<DefinitionView>,
    /// The plugins.
    pub plugins: Vec<PluginView>,
    /// Files of the project that are ignored because the user has not trusted it.
    pub ignored: Vec<String>,
    /// How many problems `catalog.check` reports.
    pub problems: u64,
}

/// Where definitions are looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogFoldersResult {
    /// The places, strongest first; they need not exist.
    pub folders: Vec<CatalogFolderView>,
}

/// A place where definitions are looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogFolderView {
    /// What is looked for.
    pub holds: CatalogFolderKind,
    /// The folder.
    pub path: String,
    /// Whether it belongs to the project, and not to the user.
    pub of_project: bool,
}

/// What a folder holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CatalogFolderKind {
    /// Agents.
    Agents,
    /// Skills.
    Skills,
}

/// A definition in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionView {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Where it comes from.
    pub source: DefinitionSource,
    /// The definition with the same name that is used instead.
    pub shadowed_by: Option<DefinitionSource>,
    /// Whether the user may use it.
    pub user_invocable: bool,
    /// Whether the model may use it.
    pub model_invocable: bool,
    /// Features it requests that this version does not support.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unserved: Vec<String>,
}

/// A plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginView {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// Its folder.
    pub folder: String,
}

/// Which definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DefinitionParams {
    /// The folder, as an absolute path; that of the process that answers when absent.
    #[serde(default)]
    pub cwd: Option<String>,
    /// The name of an agent, a skill or a slash command.
    pub name: String,
}

/// A definition in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum FullDefinition {
    /// An agent.
    Agent {
        /// Its definition.
        agent: Box<AgentSpec>,
    },
    /// A skill.
    Skill {
        /// Its definition.
        skill: SkillSpec,
    },
    /// A slash command.
    Command {
        /// Its definition.
        command: SlashSpec,
    },
}

/// The problems of a catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogProblems {
    /// How many agents can be used.
    pub agents: u64,
    /// How many skills can be used.
    pub skills: u64,
    /// How many slash commands can be used.
    pub commands: u64,
    /// The problems.
    pub problems: Vec<DefinitionProblemView>,
    /// Other warnings.
    pub notices: Vec<String>,
}

/// What a problem does to its definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ProblemSeverity {
    /// The definition is not used.
    Error,
    /// A part of it is not used.
    Warning,
    /// It is not used, since the user has not trusted the project.
    Untrusted,
    /// A severity from a newer version.
    #[serde(other)]
    Unknown,
}

/// A problem in a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionProblemView {
    /// The file, or the flag.
    pub file: String,
    /// The line, from 1, if it is known.
    pub line: Option<u64>,
    /// The column, from 1, if it is known.
    pub column: Option<u64>,
    /// Whether the definition is used.
    pub severity: ProblemSeverity,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}
