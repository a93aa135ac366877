//! What grows with a session or a home, and how fast: turns, lists of sessions, background results, ended agents and
//! searches; then isolated workers in a large repository, and many watchers of one session.

mod ended;
pub(super) mod lists;
mod results;
pub(super) mod search;
mod turns;

use std::fs;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use super::{BenchFolder, checkouts, watchers};
use crate::measure::{RunFigures, measure};
use crate::run;

/// Measures and prints a table for each part.
pub(super) fn bench(ground: &BenchFolder) -> Result<()> {
    let stage = GrowthBench::new(ground, "growth")?;
    turns::bench(&stage)?;
    lists::bench(&stage)?;
    results::bench(&stage)?;
    ended::bench(&stage)?;
    search::bench(&stage)?;
    checkouts::bench(ground)?;
    watchers::bench(ground)
}

/// A folder in memory, if the machine has one.
const MEMORY: &str = "/dev/shm";

/// The bench folder, with homes in memory if possible: a shared disk would hide Bosun's own costs.
pub(super) struct GrowthBench<'a> {
    ground: &'a BenchFolder,
    homes: PathBuf,
}

impl<'a> GrowthBench<'a> {
    /// Several of one process need different names.
    pub(super) fn new(ground: &'a BenchFolder, name: &str) -> Result<GrowthBench<'a>> {
        let own = format!("bosun-bench-{}-{name}", std::process::id());
        let memory = Path::new(MEMORY).join(&own);
        let homes = if fs::create_dir(&memory).is_ok() { memory } else { ground.folder.join(own) };
        fs::create_dir_all(&homes).context("cannot make a folder for homes")?;
        Ok(GrowthBench { ground, homes })
    }
}

impl Deref for GrowthBench<'_> {
    type Target = BenchFolder;

    fn deref(&self) -> &BenchFolder {
        self.ground
    }
}

impl Drop for GrowthBench<'_> {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.homes) {
            eprintln!("{} stays: {error}", self.homes.display());
        }
    }
}

/// Creates a home for one part, with these settings.
pub(super) fn home(stage: &GrowthBench<'_>, name: &str, config: &str) -> Result<PathBuf> {
    let home = stage.homes.join(name);
    fs::create_dir_all(&home).context("cannot make a home")?;
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).context("cannot make a home private")?;
    fs::write(home.join("config.toml"), config).context("cannot write the settings")?;
    Ok(home)
}

/// Writes a script and returns the model that plays it.
fn script(stage: &GrowthBench<'_>, name: &str, text: &str) -> Result<String> {
    fs::write(stage.folder.join(name), text).with_context(|| format!("cannot write {name}"))?;
    Ok(format!("script/{name}"))
}

/// Measures a prompt answered by a script.
pub(super) fn prompt(stage: &GrowthBench<'_>, home: &Path, model: &str, runs: usize) -> Result<RunFigures> {
    let folder = stage.folder();
    let command = [&stage.binary, "-p", "go", "--quiet", "--allow-all", "-C", &folder, "--model", model];
    measure(&command, home, &[], runs)
}

/// Runs the same prompt and returns its JSON output.
fn answer(stage: &GrowthBench<'_>, home: &Path, model: &str) -> Result<Value> {
    let folder = stage.folder();
    let mut command = Command::new(&stage.binary);
    command.args(["-p", "go", "--quiet", "--allow-all", "--output-format", "json", "-C", &folder, "--model", model]);
    let text = run::output(command.env("BOSUN_HOME", home).stdin(Stdio::null()))?;
    serde_json::from_str(&text).context("the answer is not JSON")
}

/// How a cost grows from `few` to `many`: 1 is linear, 2 is quadratic.
fn exponent(few: (usize, f64), many: (usize, f64)) -> f64 {
    (many.1 / few.1).ln() / (many.0 as f64 / few.0 as f64).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_told_by_its_exponent() {
        assert!((exponent((10, 3.0), (100, 30.0)) - 1.0).abs() < 1e-9);
        assert!((exponent((10, 3.0), (100, 300.0)) - 2.0).abs() < 1e-9);
    }
}
