//! The catalogue: agents, skills and plugins from Claude's and Copilot's files, flags and the network, with a problem
//! reported for everything that is ignored.
//!
//! Definitions are gathered strongest first, so the first with a name is used and later ones are shadowed: the command
//! line, the project, the user, plugins, the remote catalogue, the built-in agents.

mod agent;
mod agent_tools;
mod built_in;
mod commands;
mod definitions;
mod description_size;
mod fields;
mod frontmatter;
mod gather;
mod hook_text;
mod kinds;
mod listing;
mod loaded;
mod locations;
mod name;
mod node;
mod plugin;
mod plugin_loader;
mod problem;
mod references;
mod remote;
mod repository;
mod requirements;
mod session_skills;
mod skill;
mod tool_names;
mod walk;

pub use built_in::built_in_agents;
pub use description_size::DescriptionOverflow;
pub use gather::gather_catalog;
pub use hook_text::{HookHolder, HookText, hook_programs};
pub use listing::{CatalogListing, ListedAgent, ListedSkill, ListedSlashCommand};
pub use loaded::LoadedCatalog;
pub use locations::{CatalogLocations, InlineDefinitions};
pub use plugin::Plugin;
pub use problem::{DefinitionProblem, FilePosition, Severity};
pub use remote::{RemoteCatalog, RemoteDefinitions, RemoteState};
pub use repository::remote_url;

pub(crate) use fields::nearest;
pub(crate) use frontmatter::describe_yaml_error;
pub(crate) use name::normalize_or_trim as loose_name;
pub(crate) use node::{DocumentNode, JsonNode, NodeValue, YamlNode};
pub(crate) use session_skills::SessionSkillSource;
