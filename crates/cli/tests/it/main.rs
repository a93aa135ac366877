//! The command as people and machines use it: the real binary, and what may happen to it.

#![cfg(test)]

mod asking;
mod chaos;
mod commands;
mod crowds;
mod demo;
mod documents;
mod faults;
mod fleet;
mod kills;
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

fn stage() -> BinaryFixture {
    BinaryFixture::new(BOSUN)
}
