//! The Python environment of the oracle, which compares our wire formats with the providers' own SDKs.

use std::path::PathBuf;

use anyhow::Result;

use crate::run::{root, target_dir};
use crate::venv;

/// The variable with its path, for tests.
pub(crate) const VARIABLE: &str = "BOSUN_ORACLE";

/// Creates the environment unless it exists with the same packages, and returns its path.
pub(crate) fn install() -> Result<PathBuf> {
    let place = target_dir().join("oracle");
    let list = root().join("testkit/oracle/requirements.txt");
    venv::install(&place, &list, "the SDKs that the wires are compared with")?;
    Ok(place)
}
