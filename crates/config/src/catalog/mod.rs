//! The catalogue: agents, skills and plugins from files of both families, flags and the network, with a word for
//! everything that is not used.
//!
//! Definitions are gathered strongest first, so the first of a name counts and the others are shadowed: the command
//! line, the project, the user, plugins, a remote catalogue, what is built in.

mod agent;
mod bring;
mod built_in;
mod commands;
mod definitions;
mod fields;
mod gather;
mod gathered;
mod head;
mod hook_text;
mod kinds;
mod name;
mod node;
mod places;
mod plugin;
mod pressure;
mod problem;
mod refer;
mod remote;
mod repository;
mod role;
mod skill;
mod tool_names;
mod walk;
mod wishes;

pub use built_in::built_in_agents;
pub use gather::gather;
pub use gathered::{Gathered, ListedAgent, ListedSkill, ListedSlash};
pub use hook_text::{HookHolder, HookText, hook_programs};
pub use places::{CatalogPlaces, Given};
pub use plugin::Plugin;
pub use pressure::Pressure;
pub use problem::{Problem, Severity, Spot};
pub use remote::{Remote, RemoteCatalog, RemoteState};
pub use repository::remote_of;

pub(crate) use fields::nearest;
pub(crate) use head::told;
pub(crate) use name::loose as loose_name;
pub(crate) use node::{Marked, Node, Value};
