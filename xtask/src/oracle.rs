//! The Python environment of the oracle, which compares our wires with the providers' own SDKs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::run::{root, run, target_dir, works};

/// The variable that tells tests where it is.
pub(crate) const VARIABLE: &str = "BOSUN_ORACLE";

/// Makes the environment unless it is there with the same packages, and says where it is.
pub(crate) fn install() -> Result<PathBuf> {
    let place = target_dir().join("oracle");
    let list = root().join("testkit/oracle/requirements.txt");
    let wanted = fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
    let stamp = place.join("requirements.installed");
    let python = place.join("bin/python");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) && works(&mut version(&python)) {
        return Ok(place);
    }
    println!("oracle: installing the SDKs that the wires are compared with");
    make(&place, &list).context(
        "the oracle needs python3 with venv and pip (Debian: apt install python3 python3-venv), \
         and a package index that has testkit/oracle/requirements.txt",
    )?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(place)
}

fn make(place: &Path, list: &Path) -> Result<()> {
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(place))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    run(Command::new(place.join("bin/python")).args(pip).arg(list))
}

fn version(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.arg("--version");
    command
}
