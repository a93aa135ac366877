//! Fleets: the cost of a todo in the kernel, and in a whole run with a trivial scripted model.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};

use super::BenchFolder;
use crate::measure::RunFigures;
use crate::run::{cargo, run};

/// Number of todos in each plan.
const PLANS: [usize; 2] = [100, 1_000];

/// Number of runs of each; nothing of an earlier run is reused.
const RUNS: usize = 3;

/// Lets enough workers run at once that the number of todos dominates.
const CONFIG: &str = "[limits]\nlive = 64\ntotal = 4096\n";

/// Every worker finishes immediately.
const SCRIPT: &str = "version: 1\nrules:\n  - answer: [ { say: Done. } ]\n";

/// Measures the kernel alone, and prints.
pub(super) fn kernel() -> Result<()> {
    println!("Cost of a todo in the kernel:\n");
    run(&mut cargo(&["run", "--quiet", "--release", "--package", "bosun-kernel", "--example", "fleet_speed"]))?;
    println!();
    Ok(())
}

/// Measures whole runs, and prints.
pub(super) fn whole(ground: &BenchFolder) -> Result<()> {
    println!("| todos | wall | wall a todo | CPU | CPU a todo | peak memory |");
    println!("|---:|---:|---:|---:|---:|---:|");
    for todos in PLANS {
        let arguments = prepare(ground, todos)?;
        println!("{}", row(todos, ground.measure(&arguments.each_ref().map(String::as_str), RUNS)?));
    }
    println!();
    Ok(())
}

/// Writes settings, script and plan for this many todos; returns the arguments that run the plan.
pub(super) fn prepare(ground: &BenchFolder, todos: usize) -> Result<[String; 9]> {
    fs::create_dir_all(ground.home()).context("cannot make the home")?;
    fs::write(ground.home().join("config.toml"), CONFIG).context("cannot write the settings")?;
    fs::write(ground.folder.join("fleet.yaml"), SCRIPT).context("cannot write the script")?;
    let plan = ground.folder.join(format!("plan-{todos}.yaml"));
    fs::write(&plan, text(todos)).context("cannot write a plan")?;
    let (folder, plan) = (ground.folder(), plan.display().to_string());
    let arguments = ["fleet", "run", &plan, "--fresh", "--allow-all", "-C", &folder, "--model", "script/fleet.yaml"];
    Ok(arguments.map(str::to_owned))
}

fn row(todos: usize, figures: RunFigures) -> String {
    let (wall, cpu) = (figures.wall.as_secs_f64(), figures.cpu.as_secs_f64());
    let each = |seconds: f64| seconds * 1e3 / todos as f64;
    let mib = figures.peak_kib as f64 / 1024.0;
    format!("| {todos} | {wall:.2} s | {:.2} ms | {cpu:.2} s | {:.2} ms | {mib:.0} MiB |", each(wall), each(cpu))
}

/// A plan with ten todos per layer, each depending on two of the layer before.
fn text(todos: usize) -> String {
    let mut text = "todos:\n".to_owned();
    for n in 0..todos {
        let above = match n.checked_sub(10) {
            Some(above) => format!("t{above}, t{}", above - above % 10),
            None => String::new(),
        };
        // Writing to a string cannot fail.
        let _written = writeln!(text, "  - {{ id: t{n}, title: Do {n}, depends_on: [{above}] }}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn todos_wait_for_the_layer_before() {
        let text = text(23);
        assert!(text.contains("id: t9, title: Do 9, depends_on: []"), "{text}");
        assert!(text.contains("id: t22, title: Do 22, depends_on: [t12, t10]"), "{text}");
    }
}
