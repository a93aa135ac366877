//! Measures the time and resources of a command over many runs.
//!
//! An intermediate process runs each command, since the kernel reports usage only as the sum and maximum of all
//! children so far. That process is small; memory below its size cannot be measured.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::prctl::set_child_subreaper;
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::sys::wait::wait;
use serde_json::{Value, json};

use crate::{memory, run};

/// The argument that makes this program the intermediate process.
pub(crate) const ONCE: &str = "measure-once";

/// How often the memory of a program and its descendants is sampled.
const EVERY: Duration = Duration::from_millis(20);

/// The medians of many runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunFigures {
    /// From start to end.
    pub(crate) wall: Duration,
    /// CPU time, including system time.
    pub(crate) cpu: Duration,
    /// Peak memory, in KiB.
    pub(crate) peak_kib: u64,
}

/// Runs `command` `runs` times, without output, with this Bosun home and these variables.
pub(crate) fn measure(command: &[&str], home: &Path, env: &[(&str, String)], runs: usize) -> Result<RunFigures> {
    let this = std::env::current_exe().context("cannot find this program")?;
    let mut samples = Vec::with_capacity(runs);
    for _ in 0..runs {
        let mut once = Command::new(&this);
        once.arg(ONCE).args(command).env("BOSUN_HOME", home).stdin(Stdio::null());
        let line = run::output(once.envs(env.iter().map(|(name, value)| (name, value))))?;
        samples.push(parse(&line)?);
    }
    medians(&samples)
}

/// The median of each figure.
pub(crate) fn medians(samples: &[RunFigures]) -> Result<RunFigures> {
    Ok(RunFigures {
        wall: median(samples.iter().map(|sample| sample.wall)).context("no runs")?,
        cpu: median(samples.iter().map(|sample| sample.cpu)).context("no runs")?,
        peak_kib: median(samples.iter().map(|sample| sample.peak_kib)).context("no runs")?,
    })
}

/// Runs a program once and prints what it and its descendants used.
pub(crate) fn once(program: &str, arguments: &[&str]) -> Result<()> {
    // Descendants that outlive the program are reparented to this process, and counted.
    set_child_subreaper(true).context("cannot become a subreaper")?;
    let start = Instant::now();
    let mut process = Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    // What it says is shown only if it fails: a fleet writes a line for each todo.
    let messages = process.stderr.take().map(|stderr| thread::spawn(move || io::read_to_string(stderr)));
    let (running, ended) = mpsc::channel();
    let watch = thread::spawn(move || memory::peak_kib(&ended, EVERY));
    let status = process.wait().with_context(|| format!("cannot wait for {program}"))?;
    let wall = start.elapsed();
    drop(running);
    if !status.success() {
        let messages = messages.and_then(|reading| reading.join().ok()?.ok()).unwrap_or_default();
        bail!("{program} failed ({status}): {messages}");
    }
    while wait().is_ok() {}
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("cannot read what it used")?;
    // A single process may have had more between two samples.
    let peak = watch.join().unwrap_or_default().max(u64::try_from(usage.max_rss()).unwrap_or_default());
    println!("{}", json!({ "wall": micros(wall), "cpu": cpu_micros(&usage), "peakKib": peak }));
    Ok(())
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn cpu_micros(usage: &Usage) -> i64 {
    usage.user_time().num_microseconds() + usage.system_time().num_microseconds()
}

fn parse(line: &str) -> Result<RunFigures> {
    let value: Value = serde_json::from_str(line).context("a run printed no figures")?;
    let field = |name: &str| value[name].as_u64().with_context(|| format!("a run did not print {name}"));
    Ok(RunFigures {
        wall: Duration::from_micros(field("wall")?),
        cpu: Duration::from_micros(field("cpu")?),
        peak_kib: field("peakKib")?,
    })
}

pub(crate) fn median<T: Ord>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut values: Vec<T> = values.collect();
    values.sort();
    let middle = values.len() / 2;
    values.into_iter().nth(middle)
}

/// The figures as a Markdown table.
pub(crate) fn table(rows: &[(&str, RunFigures)]) -> String {
    let mut table = String::from("| what | wall | CPU | peak memory |\n|---|---:|---:|---:|\n");
    for (what, RunFigures { wall, cpu, peak_kib }) in rows {
        let (wall, cpu) = (wall.as_secs_f64() * 1e3, cpu.as_secs_f64() * 1e3);
        let peak = *peak_kib as f64 / 1024.0;
        table.push_str(&format!("| {what} | {wall:.1} ms | {cpu:.1} ms | {peak:.1} MiB |\n"));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_a_value_that_was_seen() {
        assert_eq!(median([5, 1, 9].into_iter()), Some(5));
        assert_eq!(median([4, 1].into_iter()), Some(4));
        assert_eq!(median(std::iter::empty::<u8>()), None);
    }

    #[test]
    fn figures_print_in_units_people_read() {
        let figures = RunFigures {
            wall: Duration::from_micros(12_340),
            cpu: Duration::from_micros(900),
            peak_kib: 10 * 1024 + 512,
        };
        let expected =
            "| what | wall | CPU | peak memory |\n|---|---:|---:|---:|\n| start-up | 12.3 ms | 0.9 ms | 10.5 MiB |\n";
        assert_eq!(table(&[("start-up", figures)]), expected);
    }

    #[test]
    fn a_run_is_read_back() {
        let line = json!({ "wall": 7, "cpu": 5, "peakKib": 3 }).to_string();
        let expected = RunFigures { wall: Duration::from_micros(7), cpu: Duration::from_micros(5), peak_kib: 3 };
        assert_eq!(parse(&line).unwrap(), expected);
        assert!(parse("{}").is_err());
    }
}
