//! Adapters, driven as their clients drive them.

#![cfg(test)]

mod claude;
mod copilot;
mod corpus;
mod drive;
mod http;
#[path = "../../../../fuzz/replay.rs"]
mod replay;
