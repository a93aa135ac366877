//! The four SDKs that drive Bosun in tests: two families, each for node and for Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::run::{root, run, target_dir, works};

/// The variable that tells tests where they are.
pub(crate) const VARIABLE: &str = "BOSUN_SDKS";

/// Installs them unless they are there in the same versions, and says where they are.
pub(crate) fn install() -> Result<PathBuf> {
    let place = target_dir().join("sdks");
    node(&place.join("node")).context(
        "the SDKs for node need node 20 or newer with npm (Debian: apt install nodejs npm), \
         and a registry that has what crates/cli/tests/sdk/package-lock.json names",
    )?;
    python(&place.join("python")).context(
        "the SDKs for Python need python3 with venv and pip (Debian: apt install python3 python3-venv), \
         and a package index that has what crates/cli/tests/sdk/requirements.txt names",
    )?;
    Ok(place)
}

/// Without the agents that the packages would bring along: 200 MB each, and Bosun stands in for them. `npm ci` would want
/// the lock to have them.
fn node(place: &Path) -> Result<()> {
    let lists = ["package.json", "package-lock.json"];
    let wanted = wanted(&lists)?;
    if is_installed(place, &wanted) && works(Command::new("node").arg("--version")) {
        return Ok(());
    }
    println!("sdks: installing the SDKs for node");
    fs::create_dir_all(place).with_context(|| format!("cannot make {}", place.display()))?;
    for list in lists {
        fs::copy(source(list), place.join(list)).with_context(|| format!("cannot copy {list}"))?;
    }
    let options = ["--omit=optional", "--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund"];
    run(Command::new("npm").args(["install", "--loglevel=error"]).args(options).current_dir(place))?;
    remember(place, &wanted)
}

fn python(place: &Path) -> Result<()> {
    let list = "requirements.txt";
    let wanted = wanted(&[list])?;
    let python = place.join("bin/python");
    if is_installed(place, &wanted) && works(Command::new(&python).arg("--version")) {
        return Ok(());
    }
    println!("sdks: installing the SDKs for Python");
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(place))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    run(Command::new(&python).args(pip).arg(source(list)))?;
    remember(place, &wanted)
}

fn source(list: &str) -> PathBuf {
    root().join("crates/cli/tests/sdk").join(list)
}

fn wanted(lists: &[&str]) -> Result<String> {
    let read = |list: &&str| fs::read_to_string(source(list)).with_context(|| format!("cannot read {list}"));
    lists.iter().map(read).collect()
}

fn stamp(place: &Path) -> PathBuf {
    place.join("installed")
}

fn is_installed(place: &Path, wanted: &str) -> bool {
    fs::read_to_string(stamp(place)).is_ok_and(|installed| installed == wanted)
}

fn remember(place: &Path, wanted: &str) -> Result<()> {
    let stamp = stamp(place);
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}
