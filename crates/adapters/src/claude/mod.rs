//! The adapter for the Claude SDKs: one JSON object per line on standard input and output. A client sends user messages
//! and requests. It receives the agents' messages and calls, and requests for permissions and hooks.

mod agents;
mod args;
mod background;
mod client_setup;
mod context_usage;
mod conversation;
mod deciding_tool;
mod follower;
mod frame_writer;
mod frames;
mod hook_callbacks;
mod inbox;
mod initialize;
mod list_args;
mod live_settings;
mod mcp_servers;
mod mode;
mod model_names;
mod notifications;
mod open_request;
mod open_session;
mod output_style;
mod own_mail;
mod permission_requests;
mod prompt;
mod requests;
mod resume_cut;
mod rewind;
mod rules;
mod serve;
mod session_options;
mod settings_files;
mod state;
mod structured;
mod tasks;
mod transcripts;
mod turn_stats;
mod turns;
mod unsupported;
mod wire;

pub(crate) use rules::translate_rule;
pub use serve::{serve, serve_on};
