//! For each SDK: the time from a program's first call to the first words of the answer, alternately with the real
//! adapter and an empty one, and the adapter's memory; and the same with the vendors' own agents, if they are named.

mod program;
mod real;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use self::program::AdapterProgram;
pub(crate) use self::real::RealAgents;
use super::BenchFolder;
use crate::run::target_dir;
use crate::{run, sdks};

/// Number of runs of each.
const RUNS: usize = 20;

/// Maximum delay of the first words compared to the empty adapter, in milliseconds.
const LATER: f64 = 20.0;

/// Maximum memory of the adapter, in MiB.
const MEMORY: f64 = 32.0;

/// One SDK, and the program that uses it.
struct Sdk {
    name: &'static str,
    adapter: &'static str,
    file: &'static str,
    program: &'static str,
}

const SDKS: [Sdk; 4] = [
    Sdk {
        name: "Claude Agent SDK, Python",
        adapter: "bosun-claude",
        file: "claude.py",
        program: include_str!("claude.py"),
    },
    Sdk {
        name: "Claude Agent SDK, TypeScript",
        adapter: "bosun-claude",
        file: "claude.mjs",
        program: include_str!("claude.mjs"),
    },
    Sdk {
        name: "Copilot SDK, Python",
        adapter: "bosun-copilot",
        file: "talk_to_copilot.py",
        program: include_str!("copilot.py"),
    },
    Sdk {
        name: "Copilot SDK, node",
        adapter: "bosun-copilot",
        file: "copilot.mjs",
        program: include_str!("copilot.mjs"),
    },
];

/// Measures and prints.
pub(super) fn bench(ground: &BenchFolder, agents: &RealAgents) -> Result<()> {
    let place = sdks::install()?;
    let programs = ground.folder.join("programs");
    fs::create_dir_all(&programs).with_context(|| format!("cannot make {}", programs.display()))?;
    symlink(place.join("node/node_modules"), programs.join("node_modules")).context("cannot link the SDKs for node")?;
    run::run(Command::new(&ground.binary).args(["sdk", "install"]).arg(&programs).env("BOSUN_HOME", ground.home()))?;
    let floor = target_dir().join("release/empty-adapter");
    println!("| SDK | first words | empty adapter | difference | peak memory |\n|---|---:|---:|---:|---:|");
    let mut missed = Vec::new();
    for sdk in &SDKS {
        let env = vec![("BOSUN_MODEL", format!("script/{}", ground.folder.join("one-turn.yaml").display()))];
        let bench = AdapterBench { ground, place: &place, program: programs.join(sdk.file), env };
        fs::write(&bench.program, sdk.program).with_context(|| format!("cannot write {}", sdk.file))?;
        let (real, empty) = bench.both(&programs.join(sdk.adapter), &floor)?;
        let more = real.millis - empty.millis;
        println!(
            "| {} | {:.1} ms | {:.1} ms | {more:.1} ms | {:.1} MiB |",
            sdk.name, real.millis, empty.millis, real.mebibytes
        );
        if more >= LATER || real.mebibytes >= MEMORY {
            missed.push(sdk.name);
        }
    }
    println!("\nMedians of {RUNS} runs each. The goal: less than {LATER} ms more, and less than {MEMORY} MiB.");
    if !missed.is_empty() {
        println!("The goal is missed by: {}.", missed.join("; "));
    }
    real::bench(ground, &place, &programs, agents)
}

/// The measured figures.
struct AdapterFigures {
    millis: f64,
    mebibytes: f64,
}

struct AdapterBench<'a> {
    ground: &'a BenchFolder,
    place: &'a Path,
    program: PathBuf,
    /// Which model the adapters use.
    env: Vec<(&'static str, String)>,
}

impl AdapterBench<'_> {
    /// Measures both alternately, so that other load on the machine affects both.
    fn both(&self, real: &Path, empty: &Path) -> Result<(AdapterFigures, AdapterFigures)> {
        let (mut reals, mut empties) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            reals.push(self.once(real)?);
            empties.push(self.once(empty)?);
        }
        Ok((median(reals)?, median(empties)?))
    }

    fn once(&self, adapter: &Path) -> Result<AdapterFigures> {
        let adapter = AdapterProgram::wrap(adapter, &self.ground.folder)?;
        let is_python = self.program.extension().is_some_and(|ending| ending == "py");
        let program = if is_python { self.place.join("python/bin/python") } else { "node".into() };
        let mut command = Command::new(program);
        command.arg(&self.program).current_dir(&self.ground.folder);
        command.env("ADAPTER", adapter.path()).env("COPILOT_CLI_PATH", adapter.path());
        command.env("BOSUN_HOME", self.ground.home()).envs(self.env.iter().map(|(name, value)| (name, value)));
        let output = run::output(&mut command)?;
        let first = output.lines().next().context("the program was not answered")?;
        let millis = first.trim().parse().with_context(|| format!("the program said: {first}"))?;
        Ok(AdapterFigures { millis, mebibytes: adapter.peak_kib()? as f64 / 1024.0 })
    }
}

fn median(samples: Vec<AdapterFigures>) -> Result<AdapterFigures> {
    let middle = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().context("no runs")
    };
    let mebibytes = middle(samples.iter().map(|sample| sample.mebibytes).collect())?;
    Ok(AdapterFigures { millis: middle(samples.iter().map(|sample| sample.millis).collect())?, mebibytes })
}
