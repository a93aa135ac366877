//! The adapter of the Claude SDKs: one JSON object a line on standard input and output. A client sends messages of its user
//! and requests; it gets what the agents say and do, and requests of its own: whether a call may run, what a hook says.

mod agents;
mod args;
mod background;
mod client_setup;
mod conversation;
mod follow;
mod follower;
mod frame_writer;
mod frames;
mod hook_callbacks;
mod inbox;
mod initialize;
mod list_args;
mod mcp_servers;
mod mode;
mod open_request;
mod open_session;
mod permission_requests;
mod prompt;
mod requests;
mod rules;
mod serve;
mod state;
mod structured;
mod tasks;
mod transcripts;
mod turn_stats;
mod turns;
mod wire;

pub(crate) use rules::translate_rule;
pub use serve::{serve, serve_on};
