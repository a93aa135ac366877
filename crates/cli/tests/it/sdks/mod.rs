//! Programs written for other agents' SDKs, with the real binary.

mod claude;
mod claude_kills;
pub(crate) mod copilot;
mod copilot_kills;
mod copilot_subagents;
mod docs;

use std::path::{Path, PathBuf};

/// The path of a test program.
fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk").join(name)
}
