//! The Copilot door, over a pipe in this process.

mod client;
mod frames;
mod sessions;
mod tools;
