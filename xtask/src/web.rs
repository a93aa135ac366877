//! What the HTTP door is tried with: Schemathesis, and a browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::run::{root, run, target_dir, works};

/// The variable that tells tests where Schemathesis is.
pub(crate) const VARIABLE: &str = "BOSUN_WEB";

/// Installs both unless they are there, and says where Schemathesis is.
pub(crate) fn install() -> Result<PathBuf> {
    let place = target_dir().join("web");
    schemathesis(&place).context(
        "Schemathesis needs python3 with venv and pip (Debian: apt install python3 python3-venv), \
         and a package index that has testkit/web/requirements.txt",
    )?;
    browser().context("install Chromium by hand (Debian: apt install chromium)")?;
    Ok(place)
}

fn schemathesis(place: &Path) -> Result<()> {
    let list = root().join("testkit/web/requirements.txt");
    let wanted = fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
    let (stamp, python) = (place.join("requirements.installed"), place.join("bin/python"));
    let is_installed = fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted);
    if is_installed && works(Command::new(&python).arg("--version")) {
        return Ok(());
    }
    println!("web: installing Schemathesis");
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(place))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    run(Command::new(&python).args(pip).arg(&list))?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}

fn browser() -> Result<()> {
    if works(Command::new("chromium").arg("--version")) {
        return Ok(());
    }
    println!("web: installing Chromium");
    let apt = |words: &[&str]| run(Command::new("apt-get").args(["-q", "-y"]).args(words));
    let install = ["install", "--no-install-recommends", "chromium"];
    // The list of packages may be older than the packages.
    apt(&install).or_else(|_outdated| apt(&["update"]).and_then(|()| apt(&install)))
}
