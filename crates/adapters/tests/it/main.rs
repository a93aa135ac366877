//! Tests that use the adapters as their clients do. `corpus` feeds them the files of the fuzz corpus, with the help of
//! `drive` and `drive_session` (shared with the fuzz targets) and `replay` (shared with the `rpc` crate).

#![cfg(test)]

mod claude;
mod copilot;
mod corpus;
mod drive;
mod drive_session;
mod http;
mod mcp;
mod options_page;
#[path = "../../../../fuzz/replay.rs"]
mod replay;
