//! Agent definitions: what an agent is told, what it may use, and where that was written.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Budget, HookSpec, Isolation, PermissionMode, ReasoningEffort};

/// An agent definition, whichever file format it came in. Every field is part of what the agent is, so the definition
/// that an agent was started with is kept with its session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentSpec {
    /// The name it is started by: lower case letters, digits, `-` and `_`.
    pub name: String,
    /// When to use it, for whoever chooses.
    pub description: String,
    /// What it is told besides what every agent is told.
    pub prompt: String,
    /// The only tools it has; every tool when absent.
    pub tools: Option<Vec<String>>,
    /// Tools it does not have, whatever else is said.
    pub denied: Vec<String>,
    /// Which agents it may start.
    pub spawns: SpawnPolicy,
    /// Models it is to be run with, the first that is available; the session's when empty.
    pub models: Vec<String>,
    /// Which model it would like when neither a call nor its file names one.
    pub model_preference: ModelPreference,
    /// How hard its model should think.
    pub effort: Option<ReasoningEffort>,
    /// Most turns of one activation.
    pub max_turns: Option<u32>,
    /// A mode that narrows the session's for this agent.
    pub permission: Option<PermissionMode>,
    /// Whether it runs in the background when a call does not say.
    pub background: bool,
    /// What it and everything below it may spend.
    pub budget: Budget,
    /// Skills whose text it is given.
    pub skills: Vec<String>,
    /// Hooks that hold for it alone.
    pub hooks: Vec<HookSpec>,
    /// Whether a person may run it.
    pub user_invocable: bool,
    /// Whether a model may start it.
    pub model_invocable: bool,
    /// Whether it works in a checkout of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// What it asks for and this version cannot do; starting it is refused with these words.
    pub unsupported: Vec<String>,
    /// Where it was written.
    pub source: DefinitionSource,
}

impl AgentSpec {
    /// A name in the one form that names of agents are kept and compared in: small letters, with dashes for blanks,
    /// underscores and dots.
    pub fn normalize_name(written: &str) -> String {
        let plain = |c: char| match c {
            ' ' | '_' | '.' => '-',
            other => other.to_ascii_lowercase(),
        };
        let name: String = written.trim().chars().map(plain).collect();
        name.trim_matches('-').to_owned()
    }
}

/// Which agents an agent may start. The depth and the number are the session's to limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SpawnPolicy {
    /// None.
    #[default]
    Nobody,
    /// Any that a model may start.
    Anybody,
    /// These.
    Only(Vec<String>),
}

impl SpawnPolicy {
    /// Whether an agent of this name may be started.
    pub fn permits(&self, name: &str) -> bool {
        match self {
            SpawnPolicy::Nobody => false,
            SpawnPolicy::Anybody => true,
            SpawnPolicy::Only(names) => names.iter().any(|known| known == name),
        }
    }
}

/// Which model an agent would like best when nobody names one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ModelPreference {
    /// The session's.
    #[default]
    Same,
    /// A small one, if one is configured.
    Small,
    /// One of another family than the session's, if one is configured.
    Other,
}

/// Where a definition was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum DefinitionSource {
    /// Inside the program.
    #[default]
    BuiltIn,
    /// A file in one of the user's own folders.
    User {
        /// The file.
        path: String,
    },
    /// A file of the project.
    Project {
        /// The file.
        path: String,
    },
    /// A file of a plugin.
    Plugin {
        /// The plugin.
        plugin: String,
        /// The file.
        path: String,
    },
    /// The command line.
    Flag,
    /// A catalogue on the network.
    Remote {
        /// Its address.
        url: String,
    },
}

impl fmt::Display for DefinitionSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DefinitionSource::BuiltIn => f.write_str("built in"),
            DefinitionSource::User { path } | DefinitionSource::Project { path } => f.write_str(path),
            DefinitionSource::Plugin { plugin, path } => write!(f, "{path} of the plugin {plugin}"),
            DefinitionSource::Flag => f.write_str("the command line"),
            DefinitionSource::Remote { url } => f.write_str(url),
        }
    }
}

/// The digest of an agent definition: a session keeps each definition it used once, under this name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct DefinitionId(pub String);

impl fmt::Display for DefinitionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A skill: a text that an agent loads when it needs it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SkillSpec {
    /// The name it is loaded by.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// The file that holds it; its text is read when it is loaded.
    pub file: String,
    /// Whether a model may load it.
    pub model_invocable: bool,
    /// Whether a person may name it.
    pub user_invocable: bool,
    /// Tools that it says it needs, in its own words; they allow nothing.
    pub allowed_tools: Vec<String>,
    /// Where it was written.
    pub source: DefinitionSource,
}
