//! `cargo xtask picture`: the picture in the README, recorded from a real run. A fleet works on the demo's sample; a worker
//! claims to be done and the check denies it; the process is killed with SIGKILL and the fleet resumed.

mod record;
mod svg;

use std::fs;

use anyhow::{Context, Result};

use self::record::DemoProject;
use crate::run::{cargo, root, run, target_dir};

/// Where the README expects it.
const PICTURE: &str = "docs/demo.svg";

/// Records the run and writes the picture.
pub(crate) fn picture() -> Result<()> {
    run(&mut cargo(&["build", "--release", "--package", "bosun-cli"]))?;
    let project = DemoProject::make(&target_dir().join("release/bosun"))?;
    let lines = project.record()?;
    let path = root().join(PICTURE);
    fs::write(&path, svg::render(&lines)).with_context(|| format!("cannot write {PICTURE}"))?;
    println!("picture: {} lines in {PICTURE}", lines.len());
    Ok(())
}
