//! The Copilot adapter, over a pipe in this process.

mod accounts;
mod client;
mod client_tasks;
mod features;
mod frames;
mod orchestration;
mod server_methods;
mod session_state;
mod sessions;
mod state_files;
mod system_message;
mod tools;
mod user_shell;
mod wishes;
