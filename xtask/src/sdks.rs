//! The four SDKs that drive Bosun in tests: Claude's and Copilot's, each for node and Python.

use std::path::PathBuf;

use anyhow::Result;

use crate::npm::{self, NpmPackages};
use crate::run::{root, target_dir};
use crate::venv;

/// The variable with their path, for tests.
pub(crate) const VARIABLE: &str = "BOSUN_SDKS";

/// Installs them unless they exist in the same versions, and returns their path. The agents that they include are left
/// out: 200 MB each, and Bosun replaces them.
pub(crate) fn install() -> Result<PathBuf> {
    let (place, lists) = (target_dir().join("sdks"), root().join("crates/cli/tests/sdk"));
    npm::install(&place.join("node"), &lists, NpmPackages::Required, "the SDKs for node")?;
    venv::install(&place.join("python"), &lists.join("requirements.txt"), "the SDKs for Python")?;
    Ok(place)
}
