//! `cargo xtask bench`: figures of the release binary, as `docs/performance.md` shows them.

use anyhow::{Context, Result};

use crate::measure::{measure, table};
use crate::run::{cargo, run, target_dir};

/// How often each thing is measured.
const RUNS: usize = 30;

/// Builds the release binary, measures it and prints the table.
pub(crate) fn bench() -> Result<()> {
    run(&mut cargo(&["build", "--release", "--package", "bosun-cli"]))?;
    let binary = target_dir().join("release/bosun");
    let binary = binary.to_str().context("the target folder's name is not text")?;
    let rows = [("start-up (`bosun --version`)", measure(&[binary, "--version"], RUNS)?)];
    println!("\nMedians of {RUNS} runs.\n\n{}", table(&rows));
    Ok(())
}
