//! The four SDKs that drive Bosun in tests: Claude's and Copilot's, each for node and Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::run::{root, run, target_dir, works};
use crate::stamp::{self, InstallStamp};
use crate::venv;

/// The variable with their path, for tests.
pub(crate) const VARIABLE: &str = "BOSUN_SDKS";

/// Installs them unless they exist in the same versions, and returns their path.
pub(crate) fn install() -> Result<PathBuf> {
    let place = target_dir().join("sdks");
    node(&place.join("node")).context(
        "the SDKs for node need node 20 or newer with npm (Debian: apt install nodejs npm), \
         and a registry that has what crates/cli/tests/sdk/package-lock.json names",
    )?;
    venv::install(&place.join("python"), &source("requirements.txt"), "the SDKs for Python")?;
    Ok(place)
}

/// Installs the node packages without the agents that they include: 200 MB each, and Bosun replaces them. `npm ci`
/// would require them in the lock file.
fn node(place: &Path) -> Result<()> {
    let lists = ["package.json", "package-lock.json"];
    let wanted = lists.iter().map(|list| stamp::read(&source(list))).collect::<Result<String>>()?;
    let stamp = InstallStamp { place, wanted };
    if stamp.is_there() && works(Command::new("node").arg("--version")) {
        return Ok(());
    }
    println!("xtask: installing the SDKs for node");
    fs::create_dir_all(place).with_context(|| format!("cannot make {}", place.display()))?;
    for list in lists {
        fs::copy(source(list), place.join(list)).with_context(|| format!("cannot copy {list}"))?;
    }
    let options = ["--omit=optional", "--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund"];
    run(Command::new("npm").args(["install", "--loglevel=error"]).args(options).current_dir(place))?;
    stamp.leave()
}

fn source(list: &str) -> PathBuf {
    root().join("crates/cli/tests/sdk").join(list)
}
