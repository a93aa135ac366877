//! The adapter of the Claude SDKs, with a session that is open and answered by a script.

#![no_main]

#[path = "../../crates/adapters/tests/it/drive_session.rs"]
#[allow(dead_code, reason = "each target drives one thing")]
mod drive_session;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drive_session::claude(bytes));
