//! Python packages for tests, each list in its own environment in the target folder.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::run::{run, works};
use crate::stamp::{self, InstallStamp};

/// Creates an environment with the packages of a list, unless it exists with the same ones. `what` describes it in
/// messages.
pub(crate) fn install(place: &Path, list: &Path, what: &str) -> Result<()> {
    let stamp = InstallStamp { place, wanted: stamp::read(list)? };
    let python = place.join("bin/python");
    if stamp.is_there() && works(Command::new(&python).arg("--version")) {
        return Ok(());
    }
    println!("xtask: installing {what}");
    make(place, &python, list).with_context(|| {
        let list = list.display();
        format!(
            "{what}: this needs python3 with venv and pip (Debian: apt install python3 python3-venv), \
             and a package index that has what {list} names"
        )
    })?;
    stamp.leave()
}

fn make(place: &Path, python: &Path, list: &Path) -> Result<()> {
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(place))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    run(Command::new(python).args(pip).arg(list))
}
