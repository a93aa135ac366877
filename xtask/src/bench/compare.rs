//! Two binaries side by side: every workload runs alternately with one and the other, so that changes of the machine
//! affect both.

use std::fs;

use anyhow::{Context, Result};

use super::growth::{GrowthBench, lists, search};
use super::provider::variables;
use super::server::BenchServer;
use super::{BenchFolder, SCRIPTS, fanout, fleet};
use crate::measure::{RunFigures, measure, medians};

/// A larger relative difference is named below the table.
const TOLERANCE: f64 = 0.05;

/// Numbers of concurrent workers, with the number of runs of each.
const FANOUT: [(usize, usize); 5] = [(1, 15), (10, 15), (50, 9), (200, 5), (1_000, 3)];

/// A figure with its name.
type NamedFigure = (&'static str, fn(&RunFigures) -> f64);

/// The figures that are compared.
const FIGURES: [NamedFigure; 3] = [
    ("wall", |figures| figures.wall.as_secs_f64() * 1e3),
    ("CPU", |figures| figures.cpu.as_secs_f64() * 1e3),
    ("memory", |figures| figures.peak_kib as f64 / 1024.0),
];

/// Measures and prints.
pub(super) fn bench(before: &BenchFolder, after: &BenchFolder) -> Result<()> {
    let mut table = CompareTable::new([before, after]);
    table.row("start-up: `bosun --version`", 40, |_| Ok(Workload::new(&["--version"])))?;
    for ((script, _), (what, runs)) in SCRIPTS.iter().zip([
        ("one scripted turn", 40),
        ("one turn with a shell call, and one with the answer", 30),
        ("500 turns with one call each", 9),
    ]) {
        let model = format!("script/{script}");
        table.row(what, runs, |side| Ok(Workload::prompt(side, &model)))?;
    }
    let server = BenchServer::start(&before.folder.join(SCRIPTS[0].0), "50ms", &[])?;
    table.row("one turn over Anthropic Messages, server answers after 50 ms", 20, |side| {
        Ok(Workload { env: variables(&server.url), ..Workload::prompt(side, fanout::MODEL) })
    })?;
    drop(server);
    for (workers, runs) in FANOUT {
        let server = BenchServer::start(&fanout::script(before, workers)?, "50ms", &[])?;
        table.row(&format!("{workers} workers with three shell calls each"), runs, |side| {
            fanout::write_settings(side)?;
            Ok(Workload { env: variables(&server.url), ..Workload::prompt(side, fanout::MODEL) })
        })?;
    }
    for (todos, runs) in [(100, 9), (1_000, 5)] {
        table.row(&format!("a fleet of {todos} todos"), runs, |side| {
            Ok(Workload::new(&fleet::prepare(side, todos)?.each_ref().map(String::as_str)))
        })?;
    }
    table.lists()?;
    table.search()?;
    table.print_differences();
    Ok(())
}

/// What both sides run.
struct Workload {
    arguments: Vec<String>,
    env: Vec<(&'static str, String)>,
}

impl Workload {
    fn new(arguments: &[&str]) -> Workload {
        Workload { arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(), env: Vec::new() }
    }

    fn prompt(side: &BenchFolder, model: &str) -> Workload {
        Workload::new(&["-p", "go", "--quiet", "--allow-all", "-C", &side.folder(), "--model", model])
    }

    fn run(&self, side: &BenchFolder) -> Result<RunFigures> {
        let words = std::iter::once(side.binary.as_str()).chain(self.arguments.iter().map(String::as_str));
        measure(&words.collect::<Vec<_>>(), &side.home(), &self.env, 1)
    }
}

/// Prints a row for each workload and collects the differences.
struct CompareTable<'a> {
    sides: [&'a BenchFolder; 2],
    differences: Vec<String>,
}

impl<'a> CompareTable<'a> {
    fn new(sides: [&'a BenchFolder; 2]) -> CompareTable<'a> {
        println!("| what | runs | wall before | now | CPU before | now | memory before | now |");
        println!("|---|---:|---:|---:|---:|---:|---:|---:|");
        CompareTable { sides, differences: Vec::new() }
    }

    /// Runs a workload alternately, each side in its own new home.
    fn row(&mut self, what: &str, runs: usize, workload: impl Fn(&BenchFolder) -> Result<Workload>) -> Result<()> {
        let sides = self.sides;
        for side in sides {
            side.clear_home()?;
        }
        let workloads = [workload(sides[0])?, workload(sides[1])?];
        self.alternate(what, runs, |side| workloads[side].run(sides[side]))
    }

    fn alternate(&mut self, what: &str, runs: usize, run: impl Fn(usize) -> Result<RunFigures>) -> Result<()> {
        // The first run of each side fills the page cache and creates the home.
        for side in 0..self.sides.len() {
            run(side)?;
        }
        let mut samples: [Vec<RunFigures>; 2] = Default::default();
        for _ in 0..runs {
            for (side, samples) in samples.iter_mut().enumerate() {
                samples.push(run(side)?);
            }
        }
        let [before, after] = [medians(&samples[0])?, medians(&samples[1])?];
        println!("{}", row(what, runs, &before, &after));
        self.differences.extend(differences(what, &before, &after));
        Ok(())
    }

    fn lists(&mut self) -> Result<()> {
        let [before, after] = self.sides;
        let stages = [GrowthBench::new(before, "before")?, GrowthBench::new(after, "after")?];
        let homes = [lists::filled(&stages[0], 1_000)?, lists::filled(&stages[1], 1_000)?];
        for list in [&["sessions"][..], &["cost"], &["tasks", "--all"]] {
            self.alternate(&format!("`bosun {}` with 1,000 sessions", list.join(" ")), 15, |side| {
                let command = std::iter::once(stages[side].binary.as_str()).chain(list.iter().copied());
                measure(&command.collect::<Vec<_>>(), &homes[side].0, &[], 1)
            })?;
        }
        Ok(())
    }

    fn search(&mut self) -> Result<()> {
        let [before, after] = self.sides;
        let stages = [GrowthBench::new(before, "before")?, GrowthBench::new(after, "after")?];
        let models = [search::prepare(&stages[0])?, search::prepare(&stages[1])?];
        let homes = [super::growth::home(&stages[0], "search", "")?, super::growth::home(&stages[1], "search", "")?];
        self.alternate("one `grep` call over 20,000 files", 9, |side| {
            super::growth::prompt(&stages[side], &homes[side], &models[side], 1)
        })
    }

    fn print_differences(&self) {
        println!();
        if self.differences.is_empty() {
            println!("No figure grew by more than {:.0} %.", TOLERANCE * 100.0);
        }
        for difference in &self.differences {
            println!("- {difference}");
        }
    }
}

fn row(what: &str, runs: usize, before: &RunFigures, after: &RunFigures) -> String {
    let millis = |figure: f64| format!("{figure:.1} ms");
    let mib = |figure: f64| format!("{figure:.1} MiB");
    let cells = FIGURES.map(|(name, figure)| {
        let text = if name == "memory" { mib } else { millis as fn(f64) -> String };
        format!("{} | {}", text(figure(before)), text(figure(after)))
    });
    format!("| {what} | {runs} | {} |", cells.join(" | "))
}

/// The figures that grew by more than the tolerance.
fn differences(what: &str, before: &RunFigures, after: &RunFigures) -> Vec<String> {
    let grown = FIGURES.iter().filter_map(|(name, figure)| {
        let growth = figure(after) / figure(before) - 1.0;
        (growth > TOLERANCE).then(|| format!("{what}: {name} grew by {:.0} %", growth * 100.0))
    });
    grown.collect()
}

impl BenchFolder {
    fn clear_home(&self) -> Result<()> {
        if self.home().exists() {
            fs::remove_dir_all(self.home()).context("cannot clear the home")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn figures(wall: u64, cpu: u64, peak_kib: u64) -> RunFigures {
        RunFigures { wall: Duration::from_micros(wall), cpu: Duration::from_micros(cpu), peak_kib }
    }

    #[test]
    fn only_figures_that_grew_by_more_than_the_tolerance_are_named() {
        let (before, after) = (figures(10_000, 10_000, 1_000), figures(10_600, 10_400, 900));
        assert_eq!(differences("one turn", &before, &after), ["one turn: wall grew by 6 %"]);
    }

    #[test]
    fn a_row_has_both_sides_of_each_figure() {
        let text = row("one turn", 3, &figures(1_500, 900, 2_048), &figures(1_000, 800, 1_024));
        assert_eq!(text, "| one turn | 3 | 1.5 ms | 1.0 ms | 0.9 ms | 0.8 ms | 2.0 MiB | 1.0 MiB |");
    }
}
