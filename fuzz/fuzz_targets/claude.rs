//! The adapter of the Claude SDKs, with a session host that opens no sessions.

#![no_main]

#[path = "../../crates/adapters/tests/it/drive.rs"]
#[allow(dead_code, reason = "each target drives one thing")]
mod drive;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drive::claude(bytes));
