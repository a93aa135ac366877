//! The four SDKs that drive Bosun in tests: two families, each for node and for Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::run::{root, run, target_dir, works};
use crate::stamp::{self, InstallStamp};
use crate::venv;

/// The variable that tells tests where they are.
pub(crate) const VARIABLE: &str = "BOSUN_SDKS";

/// Installs them unless they are there in the same versions, and says where they are.
pub(crate) fn install() -> Result<PathBuf> {
    let place = target_dir().join("sdks");
    node(&place.join("node")).context(
        "the SDKs for node need node 20 or newer with npm (Debian: apt install nodejs npm), \
         and a registry that has what crates/cli/tests/sdk/package-lock.json names",
    )?;
    venv::install(&place.join("python"), &source("requirements.txt"), "the SDKs for Python")?;
    Ok(place)
}

/// Without the agents that the packages would bring along: 200 MB each, and Bosun stands in for them. `npm ci` would want
/// the lock to have them.
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
