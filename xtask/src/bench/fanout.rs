//! Many agents at once: a scripted root starts them in one message, each makes three shell calls, one per turn, and
//! answers. The model server is a separate process and takes 50 ms per answer; the floor and Bosun use the same one
//! alternately.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::BenchFolder;
use super::provider::variables;
use super::server::BenchServer;
use crate::measure::{RunFigures, measure};
use crate::run::target_dir;

/// The command that a worker runs between two turns.
const COMMAND: &str = "echo done";

/// Shell calls of one worker.
const CALLS: usize = 3;

pub(super) const MODEL: &str = "anthropic/test-model";

/// A minimal agent.
const WORKER: &str = "\
---
name: worker
description: Runs one command three times.
tools: [shell]
---
You are a bench worker.
";

/// Lets all workers run and send their requests at once.
const CONFIG: &str = "\
[limits]
live = 4096
total = 4096

[providers.anthropic]
at-once = 4096
";

/// Measures and prints.
pub(super) fn bench(ground: &BenchFolder, workers: &[usize]) -> Result<()> {
    write_settings(ground)?;
    let one = Requests::record(ground, 1)?;
    println!(
        "The first request of the main agent has {} bytes, that of a worker {} bytes.\n",
        one.first()?,
        one.child()?
    );
    println!(
        "| workers | floor | wall | wall ÷ floor | CPU | CPU a turn | peak memory | floor's CPU | floor's memory | server's CPU |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for &workers in workers {
        let requests = Requests::record(ground, workers)?;
        println!("{}", Round::new(ground, workers, &one, &requests)?.row());
    }
    println!();
    Ok(())
}

/// Writes the worker's definition and the settings.
pub(super) fn write_settings(ground: &BenchFolder) -> Result<()> {
    let agents = ground.home().join("agents");
    fs::create_dir_all(&agents).context("cannot make the folder of agents")?;
    fs::write(agents.join("worker.md"), WORKER).context("cannot write the agent")?;
    fs::write(ground.home().join("config.toml"), CONFIG).context("cannot write the settings")
}

/// The requests of one run, in the order of arrival.
struct Requests(Vec<PathBuf>);

impl Requests {
    /// Runs Bosun once and stores its requests.
    fn record(ground: &BenchFolder, workers: usize) -> Result<Requests> {
        let folder = ground.folder.join(format!("requests-{workers}"));
        fs::create_dir_all(&folder).context("cannot make a folder for requests")?;
        let path = folder.to_str().context("the target folder's name is not text")?;
        let server = BenchServer::start(&script(ground, workers)?, "50ms", &["--bodies", path])?;
        bosun(ground, &server, 1)?;
        let files = fs::read_dir(&folder).context("cannot list the requests")?;
        let mut files: Vec<PathBuf> = files.map(|file| Ok(file?.path())).collect::<Result<_>>()?;
        files.sort();
        let expected = workers * (CALLS + 1) + 2;
        ensure!(files.len() == expected, "{workers} workers made {} requests instead of {expected}", files.len());
        Ok(Requests(files))
    }

    /// Size of the main agent's first request.
    fn first(&self) -> Result<u64> {
        size(self.0.first())
    }

    /// Size of the first worker's first request.
    fn child(&self) -> Result<u64> {
        size(self.0.get(1))
    }
}

fn size(file: Option<&PathBuf>) -> Result<u64> {
    Ok(fs::metadata(file.context("there was no request")?).context("a request is gone")?.len())
}

/// The figures for one number of workers.
struct Round {
    workers: usize,
    floor: RunFigures,
    bosun: RunFigures,
    /// The share of the time that the server was busy while Bosun ran.
    busy: f64,
}

impl Round {
    /// Runs the floor and Bosun alternately; `one` has the requests of a single worker.
    fn new(ground: &BenchFolder, workers: usize, one: &Requests, all: &Requests) -> Result<Round> {
        let server = BenchServer::start(&script(ground, workers)?, "50ms", &[])?;
        let runs = if workers < 100 { 9 } else { 3 };
        let (mut floors, mut bosuns, mut busy) = (Vec::new(), Vec::new(), 0.0);
        for _ in 0..runs {
            floors.push(floor(ground, &server, workers, one, all)?);
            let before = server.cpu()?;
            let figures = bosun(ground, &server, 1)?;
            busy = (server.cpu()? - before).as_secs_f64() / figures.wall.as_secs_f64();
            bosuns.push(figures);
        }
        Ok(Round { workers, floor: middle(floors)?, bosun: middle(bosuns)?, busy })
    }

    fn row(&self) -> String {
        let Round { workers, floor, bosun, busy } = self;
        let (wall, least) = (bosun.wall.as_secs_f64(), floor.wall.as_secs_f64());
        let turns = (workers * (CALLS + 1) + 2) as f64;
        let mib = |kib: u64| kib as f64 / 1024.0;
        format!(
            "| {workers} | {least:.3} s | {wall:.3} s | {:.2} | {:.2} s | {:.2} ms | {:.0} MiB | {:.2} s | {:.0} MiB | {:.0} % |",
            wall / least,
            bosun.cpu.as_secs_f64(),
            bosun.cpu.as_secs_f64() * 1e3 / turns,
            mib(bosun.peak_kib),
            floor.cpu.as_secs_f64(),
            mib(floor.peak_kib),
            busy * 100.0,
        )
    }
}

/// The run with the median wall time.
fn middle(mut figures: Vec<RunFigures>) -> Result<RunFigures> {
    figures.sort_by_key(|figures| figures.wall);
    figures.get(figures.len() / 2).copied().context("no runs")
}

fn bosun(ground: &BenchFolder, server: &BenchServer, runs: usize) -> Result<RunFigures> {
    let folder = ground.folder();
    let command = [&ground.binary, "-p", "go", "--quiet", "--allow-all", "-C", &folder, "--model", MODEL];
    measure(&command, &ground.home(), &variables(&server.url), runs)
}

fn floor(
    ground: &BenchFolder,
    server: &BenchServer,
    workers: usize,
    one: &Requests,
    all: &Requests,
) -> Result<RunFigures> {
    let program = target_dir().join("release/floor");
    let (Some(first), Some(last)) = (all.0.first(), all.0.last()) else { bail!("there were no requests") };
    let child = one.0.get(1..one.0.len() - 1).unwrap_or_default();
    let files = [first, last].into_iter().chain(child);
    let files: Option<Vec<&str>> = std::iter::once(&program).chain(files).map(|file| file.to_str()).collect();
    let files = files.context("the target folder's name is not text")?;
    let workers = workers.to_string();
    let command: Vec<&str> =
        [files[0], &server.url, &workers, COMMAND].into_iter().chain(files[1..].iter().copied()).collect();
    measure(&command, &ground.home(), &[], 1)
}

/// Writes the script for this many workers.
pub(super) fn script(ground: &BenchFolder, workers: usize) -> Result<PathBuf> {
    let path = ground.folder.join(format!("fanout-{workers}.yaml"));
    fs::write(&path, text(workers)).with_context(|| format!("cannot write {}", Path::new(&path).display()))?;
    Ok(path)
}

fn text(workers: usize) -> String {
    let mut text = format!(
        "version: 1\n\
         rules:\n\
         \x20 - when: {{ system: bench worker, turn: 1..{CALLS} }}\n\
         \x20   answer: [ {{ call: {{ tool: shell, input: {{ command: {COMMAND} }} }} }} ]\n\
         \x20 - when: {{ system: bench worker }}\n\
         \x20   answer: [ {{ say: Done. }} ]\n\
         \x20 - when: {{ turn: 2.. }}\n\
         \x20   answer: [ {{ say: All done. }} ]\n\
         \x20 - answer:\n"
    );
    for number in 1..=workers {
        let input = format!("description: Runs, prompt: Run it., agent_type: worker, name: w{number}");
        // Writing to a string cannot fail.
        let _written = writeln!(text, "      - call: {{ tool: task, input: {{ {input} }} }}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_worker_has_a_call() {
        assert_eq!(text(3).matches("tool: task").count(), 3);
    }
}
