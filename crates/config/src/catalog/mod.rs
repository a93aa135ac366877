//! The catalogue: agents, skills and plugins from files of both families, flags and the network, with a word for
//! everything that is not used.
//!
//! Definitions are gathered strongest first, so the first of a name counts and the others are shadowed: the command
//! line, the project, the user, plugins, a remote catalogue, what is built in.

mod agent;
mod agent_tools;
mod built_in;
mod commands;
mod definitions;
mod description_size;
mod fields;
mod gather;
mod head;
mod hook_text;
mod kinds;
mod listing;
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
mod skill;
mod tool_names;
mod walk;

pub use built_in::built_in_agents;
pub use description_size::DescriptionOverflow;
pub use gather::gather_catalog;
pub use hook_text::{HookHolder, HookText, hook_programs};
pub use listing::{CatalogListing, ListedAgent, ListedSkill, ListedSlashCommand};
pub use locations::{CatalogLocations, InlineDefinitions};
pub use plugin::Plugin;
pub use problem::{DefinitionProblem, FilePosition, Severity};
pub use remote::{RemoteCatalog, RemoteDefinitions, RemoteState};
pub use repository::remote_of;

pub(crate) use fields::nearest;
pub(crate) use head::describe_yaml_error;
pub(crate) use name::loose as loose_name;
pub(crate) use node::{DocumentNode, NodeValue, YamlNode};
