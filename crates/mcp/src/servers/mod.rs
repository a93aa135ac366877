//! The servers of a session. All its agents share one connection to each, which is made when the first of them needs it
//! and made again, with growing delays, when it is lost.

mod catalog;
mod config;
mod connection;
mod entry;
mod known_prompts;
mod remote_tasks;
mod session_servers;
mod slot;
mod start;
mod tool;

pub use self::config::{McpLogins, McpServersConfig};
pub(crate) use self::entry::ServerEntry;
pub use self::session_servers::{LoginOutcome, McpServers, ServerCheck};
pub(crate) use self::slot::ServerSlot;
