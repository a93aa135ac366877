//! The `bosun` binary.
fn main() {}
