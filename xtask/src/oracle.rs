//! The Python environment of the oracle, which compares our wires with the providers' own SDKs.

use std::path::PathBuf;

use anyhow::Result;

use crate::run::{root, target_dir};
use crate::venv;

/// The variable that tells tests where it is.
pub(crate) const VARIABLE: &str = "BOSUN_ORACLE";

/// Makes the environment unless it is there with the same packages, and says where it is.
pub(crate) fn install() -> Result<PathBuf> {
    let place = target_dir().join("oracle");
    let list = root().join("testkit/oracle/requirements.txt");
    venv::install(&place, &list, "the SDKs that the wires are compared with")?;
    Ok(place)
}
