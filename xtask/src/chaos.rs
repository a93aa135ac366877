//! The command kills itself at work, many times over: `bosun selftest --chaos` of the binary as it is built now.

use std::process::Command;

use anyhow::Result;

use crate::run::{cargo, run, target_dir};

/// How many runs there are unless the caller says.
const RUNS: [&str; 2] = ["--runs", "200"];

/// Builds the command and lets it test itself.
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
