//! What tests of MCP need: the conformance suite of the protocol with the node that it runs on, the inspector, five SDKs
//! and the reference servers.

use std::path::PathBuf;

use anyhow::Result;

use crate::npm::{self, NpmPackages};
use crate::run::{root, target_dir};
use crate::venv;

/// The variable with their path, for tests.
pub(crate) const VARIABLE: &str = "BOSUN_MCP";

/// Installs all of it unless it exists in the same versions, and returns its path.
pub(crate) fn install() -> Result<PathBuf> {
    let (place, lists) = (target_dir().join("mcp"), root().join("crates/cli/tests/mcp"));
    npm::install(
        &place.join("node"),
        &lists,
        NpmPackages::All,
        "the conformance suite, the SDKs and the servers of MCP for node",
    )?;
    for (folder, list) in [("python", "requirements.txt"), ("python-1", "requirements-1.txt")] {
        venv::install(&place.join(folder), &lists.join(list), "the SDKs and the servers of MCP for Python")?;
    }
    Ok(place)
}
