//! Reading hook files, and running hooks.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

extern crate bosun_hooks as hooks;

mod commands;
mod files;
mod http;
mod said;
mod support;
