//! The host against a real machine: real processes, real files.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops where it stands")]

mod below;
mod files;
mod limits;
mod machine;
mod orphans;
mod owners;
mod paths;
mod programs;
mod secrecy;
