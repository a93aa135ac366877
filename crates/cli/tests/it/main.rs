//! Tests of the real binary, and of faults that may happen to it.

#![cfg(test)]

mod asking;
mod chaos;
mod commands;
mod crowds;
mod demo;
mod documents;
mod faults;
mod fleet;
mod host;
mod kills;
mod mcp_serve;
mod mcp_servers;
mod orphans;
mod providers;
mod scripts;
mod sdks;
mod serve;
mod talk;
mod tasks;
mod todos;

use testkit::binary::BinaryFixture;

const BOSUN: &str = env!("CARGO_BIN_EXE_bosun");

fn fixture() -> BinaryFixture {
    BinaryFixture::new(BOSUN)
}
