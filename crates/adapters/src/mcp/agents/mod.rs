//! Bosun's agents as the tools of an MCP server. A server owns no session: agents work in the session host, so that they
//! continue when a client or the server ends, and everything here is a call of the API.
//!
//! A client sees and controls the sessions that MCP clients started in the folders that the server is for, and no
//! others. What agents may do is decided by the user's settings and the flags of the server; a client can only narrow it.

mod answers;
mod arguments;
mod background;
mod fleet_report;
mod provider;
mod report;
mod run_task;
mod run_wait;
mod scope;
mod sessions;
mod tools;

pub use background::BackgroundSessions;
pub use provider::AgentProvider;
pub use scope::{AgentServerSettings, AnswerPolicy};
