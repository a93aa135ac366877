//! The adapter for the Copilot SDKs: JSON-RPC in `Content-Length` frames, on standard input and output or on a local
//! port.
//!
//! A session belongs to the server, not to a client: clients come and go, and several can watch it.

mod args;
mod base_dir;
mod canvases;
mod client_commands;
mod client_defaults;
mod client_events;
mod client_features;
mod client_inference;
mod client_mcp_tokens;
mod client_session;
mod client_state;
mod client_tasks;
mod client_telemetry;
mod client_tokens;
mod client_tools;
mod command_queue;
mod connection;
mod events;
mod github_account;
mod history;
mod hooks;
mod hosted_session;
mod idle;
mod instruction_dirs;
mod mcp_servers;
mod method_table;
mod methods;
mod model_names;
mod option_table;
mod peer;
mod pending_answers;
mod permission_rules;
mod plugins;
mod questions;
mod serve;
mod server;
mod session_changes;
mod session_clients;
mod session_names;
mod session_params;
mod session_watcher;
mod sql_script;
mod state_copy;
mod state_provider;
mod system_sections;
mod tool_filter;
mod unsupported;
mod user_commands;

pub use method_table::{PublishedMethod, published_methods};
pub use methods::provider::CopilotProviderParams;
pub use serve::{serve, serve_on};
