//! What tests share: a session driver, a fake clock, counted ids, the binary with its faults, and a model
//! server with its own.
//!
//! Dev-only: no crate has it as a normal dependency.

pub mod binary;
pub mod chaos;
pub mod http;
pub mod oracle;
pub mod server;
pub mod session;
