//! The parser of messages with a `Content-Length`.

#![no_main]

#[path = "../../crates/rpc/tests/it/drive.rs"]
#[allow(dead_code, reason = "each target drives one thing")]
mod drive;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drive::counted(bytes));
