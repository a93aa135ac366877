//! What tests share: a session driver, a fake clock, counted ids, and the binary with its faults.
//!
//! Dev-only: no crate has it as a normal dependency.

pub mod binary;
pub mod session;
