//! The tools that test the HTTP adapter: Schemathesis and a browser.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::run::{root, run, target_dir, works};
use crate::venv;

/// The variable with the path of Schemathesis, for tests.
pub(crate) const VARIABLE: &str = "BOSUN_WEB";

/// Installs both unless they exist, and returns the path of Schemathesis.
pub(crate) fn install() -> Result<PathBuf> {
    let place = target_dir().join("web");
    venv::install(&place, &root().join("testkit/web/requirements.txt"), "Schemathesis")?;
    browser().context("install Chromium by hand (Debian: apt install chromium)")?;
    Ok(place)
}

fn browser() -> Result<()> {
    if works(Command::new("chromium").arg("--version")) {
        return Ok(());
    }
    println!("xtask: installing Chromium");
    let apt = |args: &[&str]| run(Command::new("apt-get").args(["-q", "-y"]).args(args));
    let install = ["install", "--no-install-recommends", "chromium"];
    // The package index may be outdated.
    apt(&install).or_else(|_outdated| apt(&["update"]).and_then(|()| apt(&install)))
}
