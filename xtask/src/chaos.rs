//! Runs `bosun selftest --chaos`, which kills working processes many times, with the current build.

use std::process::Command;

use anyhow::Result;

use crate::run::{cargo, run, target_dir};

/// Default number of runs.
const RUNS: [&str; 2] = ["--runs", "200"];

/// Builds the binary and runs its self-test.
pub(crate) fn chaos(options: &[&str]) -> Result<()> {
    if options.contains(&"--fleet") {
        let thousand = ["nextest", "run", "--package", "bosun-cli", "--run-ignored", "only", "a_thousand_todos"];
        return run(&mut cargo(&thousand));
    }
    run(&mut cargo(&["build", "--package", "bosun-cli"]))?;
    let counted = options.iter().any(|option| ["--runs", "--events"].contains(option));
    let runs = if counted { &[][..] } else { &RUNS[..] };
    run(Command::new(target_dir().join("debug/bosun")).args(["selftest", "--chaos"]).args(options).args(runs))
}
