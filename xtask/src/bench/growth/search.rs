//! Searches: the `grep` tool in a folder of many files, compared with other search programs.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{GrowthBench, home, prompt, script};
use crate::measure::{RunFigures, measure};

/// Number of folders in the tree, and of files in each.
const FOLDERS: usize = 200;
const FILES: usize = 100;

/// Lines of a file.
const LINES: usize = 120;

/// The pattern, which is in one file of a hundred.
const PATTERN: &str = "needle_[0-9]+";

/// Number of runs of each.
const RUNS: usize = 5;

/// The folder to search.
const TREE: &str = "tree";

/// Measures and prints.
pub(super) fn bench(stage: &GrowthBench<'_>) -> Result<()> {
    let searching = prepare(stage)?;
    let home = home(stage, "search", "")?;
    let idle = prompt(stage, &home, &script(stage, "no-search.yaml", &text(None))?, RUNS)?;
    let whole = prompt(stage, &home, &searching, RUNS)?;
    let own = RunFigures {
        wall: whole.wall.saturating_sub(idle.wall),
        cpu: whole.cpu.saturating_sub(idle.cpu),
        peak_kib: whole.peak_kib,
    };
    let tree = stage.folder.join(TREE);
    let path = tree.to_str().context("the target folder's name is not text")?;
    println!("Searching {} files for one expression, one in a hundred has it:\n", FOLDERS * FILES);
    println!("| what | wall | CPU |");
    println!("|---|---:|---:|");
    row("the `grep` tool, without the start of the program and its turns", own);
    row("`grep -rIlE`", measure(&["grep", "-rIlE", PATTERN, path], &home, &[], RUNS)?);
    match measure(&["rg", "-l", "-j1", PATTERN, path], &home, &[], RUNS) {
        Ok(figures) => row("`rg -l -j1`", figures),
        Err(_) => println!("| `rg` is not installed | | |"),
    }
    println!();
    Ok(())
}

fn row(what: &str, RunFigures { wall, cpu, .. }: RunFigures) {
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    println!("| {what} | {:.1} ms | {:.1} ms |", millis(wall), millis(cpu));
}

/// Creates the tree; returns the model that searches it once.
pub(in crate::bench) fn prepare(stage: &GrowthBench<'_>) -> Result<String> {
    plant(&stage.folder.join(TREE))?;
    let place = format!("path: {TREE}, limit: 100000, files_only: true");
    script(stage, "search.yaml", &text(Some(&format!("pattern: \"{PATTERN}\", {place}"))))
}

/// Creates the tree.
fn plant(tree: &Path) -> Result<()> {
    let line = "    let value = compute(&input, offset + index)?; // an ordinary line of an ordinary program\n";
    let plain = line.repeat(LINES);
    for folder in 0..FOLDERS {
        let at = tree.join(format!("part-{folder}"));
        fs::create_dir_all(&at).context("cannot make a folder to search")?;
        for file in 0..FILES {
            let found = if file == 7 { format!("{plain}needle_{folder}\n") } else { String::new() };
            let text = if found.is_empty() { &plain } else { &found };
            fs::write(at.join(format!("file-{file}.rs")), text).context("cannot write a file to search")?;
        }
    }
    Ok(())
}

fn text(input: Option<&str>) -> String {
    let call = input.map_or("tool: report_intent, input: { intent: nothing }".to_owned(), |input| {
        format!("tool: grep, input: {{ {input} }}")
    });
    format!(
        "version: 1\nrules:\n  - when: {{ turn: 1 }}\n    answer: [ {{ call: {{ {call} }} }} ]\n  - answer: [ {{ say: Done. }} ]\n"
    )
}
