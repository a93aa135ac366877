//! The Copilot adapter, over a pipe in this process.

mod client;
mod client_tasks;
mod frames;
mod orchestration;
mod session_state;
mod sessions;
mod tools;
mod wishes;
