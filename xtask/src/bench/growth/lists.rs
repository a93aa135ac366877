//! Lists of homes with many sessions. All but one are the same session under different ids: their files are hard links,
//! so that creating them takes no time and no space.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{GrowthBench, answer, home, script};
use crate::measure::measure;

/// Numbers of sessions per home.
const SESSIONS: [usize; 3] = [10, 1_000, 10_000];

/// Number of runs of each list.
const RUNS: usize = 3;

const SCRIPT: &str = "version: 1\nrules:\n  - answer: [ { say: Done. } ]\n";

/// Measures and prints.
pub(super) fn bench(stage: &GrowthBench<'_>) -> Result<()> {
    println!("Lists of homes with many sessions, wall time (CPU):\n");
    println!("| sessions | `sessions` | `cost` | `tasks --all` | `tasks show ID` |");
    println!("|---:|---:|---:|---:|---:|");
    for sessions in SESSIONS {
        let (home, task) = filled(stage, sessions)?;
        let lists: [&[&str]; 4] = [&["sessions"], &["cost"], &["tasks", "--all"], &["tasks", "show", &task]];
        let mut row = format!("| {sessions} |");
        for list in lists {
            let command: Vec<&str> = std::iter::once(stage.binary.as_str()).chain(list.iter().copied()).collect();
            let figures = measure(&command, &home, &[], RUNS)?;
            let millis = |time: Duration| time.as_secs_f64() * 1e3;
            row += &format!(" {:.0} ms ({:.0} ms) |", millis(figures.wall), millis(figures.cpu));
        }
        println!("{row}");
    }
    println!();
    Ok(())
}

/// A home with this many sessions, and a task of one without copies.
pub(in crate::bench) fn filled(stage: &GrowthBench<'_>, sessions: usize) -> Result<(PathBuf, String)> {
    let home = home(stage, &format!("lists-{sessions}"), "")?;
    let model = script(stage, "lists.yaml", SCRIPT)?;
    answer(stage, &home, &model)?;
    let first = only(&home.join("sessions"))?;
    for n in 0..sessions.saturating_sub(2) {
        copy(&first, &named(&first, n)?)?;
    }
    // The next command rebuilds the index from the folders.
    for file in ["bosun.db", "bosun.db-wal", "bosun.db-shm"] {
        if home.join(file).exists() {
            fs::remove_file(home.join(file)).context("cannot remove the index")?;
        }
    }
    let rebuild = Command::new(&stage.binary).arg("sessions").env("BOSUN_HOME", &home).stdin(Stdio::null()).output();
    rebuild.context("cannot start the binary")?;
    let last = answer(stage, &home, &model)?;
    let task = last.pointer("/tasks/0/id").and_then(Value::as_str).context("the answer has no task")?;
    Ok((home, task.to_owned()))
}

fn only(sessions: &Path) -> Result<PathBuf> {
    let mut folders = fs::read_dir(sessions).context("there are no sessions")?;
    Ok(folders.next().context("there is no session")??.path())
}

/// Another id, with a number as its last digits.
fn named(session: &Path, n: usize) -> Result<PathBuf> {
    let name = session.file_name().and_then(|name| name.to_str()).context("a session without a name")?;
    let digits = format!("{n:06x}");
    let kept = name.len().checked_sub(digits.len()).context("a session with a short name")?;
    Ok(session.with_file_name(format!("{}{digits}", &name[..kept])))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir(to).context("cannot make a session")?;
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).context("cannot make a session private")?;
    fs::hard_link(from.join("session.db"), to.join("session.db")).context("cannot copy a session")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_have_ids_of_the_same_form() {
        let copy = named(Path::new("/h/sessions/0190a0b0c0d0"), 255).unwrap();
        assert_eq!(copy, Path::new("/h/sessions/0190a00000ff"));
    }
}
