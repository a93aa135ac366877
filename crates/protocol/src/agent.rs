//! Agent definitions: prompt, tools, limits and the source of each definition.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Budget, HookSpec, Isolation, PermissionMode, PlaceName, ReasoningEffort};

/// The agent type of work that names none.
pub const DEFAULT_AGENT: &str = "general-purpose";

/// An agent definition, independent of its file format. The session stores the definition that an agent was started
/// with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentSpec {
    /// The name it is started by: lower case letters, digits, `-` and `_`.
    pub name: String,
    /// When to use it, for the model or user who chooses an agent.
    pub description: String,
    /// Its instructions, in addition to those that every agent gets.
    pub prompt: String,
    /// The only tools it has; every tool when absent.
    pub tools: Option<Vec<String>>,
    /// Tools it does not have, even if `tools` lists them.
    pub denied: Vec<String>,
    /// Which agents it may start.
    pub spawns: SpawnPolicy,
    /// Models to run it with: the first that is available; the session's when empty.
    pub models: Vec<String>,
    /// Which model it prefers when neither a call nor its file names one.
    pub model_preference: ModelPreference,
    /// How hard its model should think.
    pub effort: Option<ReasoningEffort>,
    /// Maximum turns of one activation.
    pub max_turns: Option<u32>,
    /// A mode that narrows the session's for this agent.
    pub permission: Option<PermissionMode>,
    /// Whether it runs in the background unless a call says otherwise.
    pub background: bool,
    /// Whether the agents that it starts may work in the background, as those of the root may.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub background_spawns: bool,
    /// What it and everything below it may spend.
    pub budget: Budget,
    /// Skills whose text is added to its prompt.
    pub skills: Vec<String>,
    /// Hooks that apply only to it.
    pub hooks: Vec<HookSpec>,
    /// Whether a person may run it.
    pub user_invocable: bool,
    /// Whether a model may start it.
    pub model_invocable: bool,
    /// Whether it works in its own checkout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Where its runs take place; in the process that runs the session when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceName>,
    /// Features it requires that this version does not support; starting it is refused with this list.
    pub unsupported: Vec<String>,
    /// Where it is defined.
    pub source: DefinitionSource,
}

impl AgentSpec {
    /// Returns the normal form in which agent names are stored and compared: lower case, with dashes for spaces,
    /// underscores and dots.
    pub fn normalize_name(written: &str) -> String {
        let normalize = |c: char| match c {
            ' ' | '_' | '.' => '-',
            other => other.to_ascii_lowercase(),
        };
        let name: String = written.trim().chars().map(normalize).collect();
        name.trim_matches('-').to_owned()
    }
}

/// Which agents an agent may start. The session limits their depth and number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SpawnPolicy {
    /// None.
    #[default]
    None,
    /// Any that a model may start.
    Any,
    /// These.
    Only(Vec<String>),
}

impl SpawnPolicy {
    /// Whether an agent of this name may be started.
    pub fn permits(&self, name: &str) -> bool {
        match self {
            SpawnPolicy::None => false,
            SpawnPolicy::Any => true,
            SpawnPolicy::Only(names) => names.iter().any(|known| known == name),
        }
    }
}

/// Which model an agent prefers when no model is named.
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

/// Where a definition comes from.
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
    /// A remote catalog.
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
            DefinitionSource::Plugin { plugin, path } => write!(f, "{path} in plugin {plugin}"),
            DefinitionSource::Flag => f.write_str("the command line"),
            DefinitionSource::Remote { url } => f.write_str(url),
        }
    }
}

/// The digest of an agent definition, under which a session stores it once.
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
    /// Tools that it says it needs, as written; they grant no permission.
    pub allowed_tools: Vec<String>,
    /// Where it is defined.
    pub source: DefinitionSource,
}
