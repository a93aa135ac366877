//! Node packages for tests, each list in its own folder in the target folder.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::run::{run, works};
use crate::stamp::{self, InstallStamp};

/// The files of a list.
const LISTS: [&str; 2] = ["package.json", "package-lock.json"];

/// What all lists are installed with: no package runs a script.
const OPTIONS: [&str; 4] = ["--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund"];

/// Which of the packages are installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NpmPackages {
    /// All that this machine can run.
    All,
    /// Without the optional ones. `npm ci` would require them in the lock file.
    Required,
}

/// Installs the packages of the list in a folder, unless they exist in the same versions. `what` describes them in
/// messages.
pub(crate) fn install(place: &Path, list: &Path, packages: NpmPackages, what: &str) -> Result<()> {
    let wanted = LISTS.iter().map(|file| stamp::read(&list.join(file))).collect::<Result<String>>()?;
    let stamp = InstallStamp { place, wanted };
    if stamp.is_there() && works(Command::new("node").arg("--version")) {
        return Ok(());
    }
    println!("xtask: installing {what}");
    fs::create_dir_all(place).with_context(|| format!("cannot make {}", place.display()))?;
    for file in LISTS {
        fs::copy(list.join(file), place.join(file)).with_context(|| format!("cannot copy {file}"))?;
    }
    let optional = match packages {
        NpmPackages::All => None,
        NpmPackages::Required => Some("--omit=optional"),
    };
    let mut npm = Command::new("npm");
    npm.args(["install", "--loglevel=error"]).args(OPTIONS).args(optional).current_dir(place);
    run(&mut npm).with_context(|| {
        format!(
            "{what}: this needs node 20 or newer with npm (Debian: apt install nodejs npm), \
             and a registry that has what {} names",
            list.join(LISTS[1]).display()
        )
    })?;
    stamp.leave()
}
