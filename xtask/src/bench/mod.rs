//! `cargo xtask bench`: the figures of the release binary for `docs/performance.md`.

mod adapters;
mod checkouts;
mod compare;
mod fanout;
mod fleet;
mod growth;
mod mcp;
mod provider;
mod server;
mod sessions;
mod watchers;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use self::adapters::RealAgents;
use crate::measure::{RunFigures, measure, table};
use crate::run::{cargo, run, target_dir};

/// Number of runs.
const RUNS: usize = 30;

/// Number of runs of the long ones.
const LONG_RUNS: usize = 5;

/// Turns of the long session.
const TURNS: usize = 500;

const SCRIPTS: [(&str, &str); 3] = [
    ("one-turn.yaml", include_str!("one-turn.yaml")),
    ("one-shell.yaml", include_str!("one-shell.yaml")),
    ("long.yaml", include_str!("long.yaml")),
];

/// Builds the release binary, measures it and prints the tables.
pub(crate) fn bench() -> Result<()> {
    build()?;
    let ground = BenchFolder::new()?;
    let rows = [
        ("start-up: `bosun --version`", ground.measure(&["--version"], RUNS)?),
        ("one scripted turn: `bosun -p`", ground.prompt("one-turn.yaml", RUNS)?),
        ("the same with an empty `BOSUN_HOME`", ground.first_start()?),
        ("one turn with a shell call, and a turn with the answer", ground.prompt("one-shell.yaml", RUNS)?),
        ("500 turns with one call each", ground.prompt("long.yaml", LONG_RUNS)?),
    ];
    println!("\nMedians of {RUNS} runs ({LONG_RUNS} of the last).\n\n{}", table(&rows));
    let per_turn = rows[4].1.wall.as_secs_f64() * 1e3 / TURNS as f64;
    println!("A turn of the long session takes {per_turn:.2} ms.\n");
    provider::bench(&ground)?;
    println!("Events per second, `synchronous=FULL`, one session:\n");
    run(&mut cargo(&["run", "--quiet", "--release", "--package", "bosun-store", "--example", "events"]))
}

/// Numbers of concurrent agents.
pub(crate) const WORKERS: &str = "1,10,50,200,1000";

/// Builds the release binary and measures concurrent agents.
pub(crate) fn fanout(workers: &str) -> Result<()> {
    let workers: Result<Vec<usize>, _> = workers.split(',').map(str::parse).collect();
    let workers = workers.context("--workers takes numbers separated by commas")?;
    build()?;
    fanout::bench(&BenchFolder::new()?, &workers)
}

/// Builds the release binary and measures fleets.
pub(crate) fn fleet() -> Result<()> {
    fleet::kernel()?;
    build()?;
    fleet::whole(&BenchFolder::new()?)
}

/// Measures isolated workers in a large repository.
pub(crate) fn checkouts(binary: Option<&str>) -> Result<()> {
    checkouts::bench(&BenchFolder::of(binary)?)
}

/// Measures the adapters through the SDKs, and the real agents that are named.
pub(crate) fn adapters(arguments: &[&str]) -> Result<()> {
    let agents = RealAgents::read(arguments)?;
    adapters::bench(&BenchFolder::of(agents.binary.as_deref())?, &agents)
}

/// Measures what grows.
pub(crate) fn growth(binary: Option<&str>) -> Result<()> {
    growth::bench(&BenchFolder::of(binary)?)
}

/// Measures two binaries side by side; the second is the release binary, which is built, unless named.
pub(crate) fn compare(before: &str, after: Option<&str>) -> Result<()> {
    build()?;
    let folder = BenchFolder::new()?;
    compare::bench(&folder.side("before", Some(before))?, &folder.side("after", after)?)
}

/// Builds the release binary, and measures sessions with and without MCP servers; another binary only without.
pub(crate) fn mcp(before: Option<&str>) -> Result<()> {
    build()?;
    let folder = BenchFolder::new()?;
    let before = before.map(|before| folder.side("before", Some(before))).transpose()?;
    mcp::bench(&folder, before.as_ref())
}

/// Measures what a server keeps of its sessions.
pub(crate) fn sessions(binary: Option<&str>) -> Result<()> {
    sessions::bench(&BenchFolder::of(binary)?)
}

/// Measures a run with HTTP watchers.
pub(crate) fn watchers(binary: Option<&str>) -> Result<()> {
    watchers::bench(&BenchFolder::of(binary)?)
}

/// One after the other: in one build, the binary would get the features that only the test kit asks of their libraries,
/// such as tokio's replaceable clock, and a turn would take 1.5 ms longer.
fn build() -> Result<()> {
    for package in ["bosun-testkit", "bosun-cli"] {
        run(&mut cargo(&["build", "--release", "--package", package, "--bins"]))?;
    }
    Ok(())
}

/// A binary is started from other folders.
fn absolute(binary: &str) -> Result<PathBuf> {
    fs::canonicalize(binary).with_context(|| format!("cannot find {binary}"))
}

fn release_binary() -> PathBuf {
    target_dir().join("release/bosun")
}

/// A folder with the scripts and a home.
struct BenchFolder {
    folder: PathBuf,
    binary: String,
}

impl BenchFolder {
    /// Prepares to measure another binary, or the release binary, which is built.
    fn of(binary: Option<&str>) -> Result<BenchFolder> {
        if binary.is_none() {
            build()?;
        }
        BenchFolder::with(binary.map_or_else(|| Ok(release_binary()), absolute)?)
    }

    /// The same scripts in a folder and home of their own, for another binary if one is named.
    fn side(&self, name: &str, binary: Option<&str>) -> Result<BenchFolder> {
        let binary = binary.map_or_else(|| Ok(release_binary()), absolute)?;
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder).context("cannot make a folder")?;
        BenchFolder::in_folder(folder, &binary)
    }

    /// Prepares to measure the release binary, which was built.
    fn new() -> Result<BenchFolder> {
        BenchFolder::with(release_binary())
    }

    fn with(binary: PathBuf) -> Result<BenchFolder> {
        let folder = target_dir().join("bench");
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot clear {}", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        // A repository of its own, or the instructions of this one would be part of every request.
        run(Command::new("git").args(["init", "--quiet"]).current_dir(&folder))?;
        BenchFolder::in_folder(folder, &binary)
    }

    /// Measures a copy of the binary: the system keeps a file that a linker wrote in smaller pieces of memory than a
    /// copied or downloaded one, and a start of it takes a millisecond longer. The copy is not in the folder that is
    /// worked in, where every session would take note of such a large file.
    fn in_folder(folder: PathBuf, binary: &Path) -> Result<BenchFolder> {
        let copies = target_dir().join("bench-binaries");
        fs::create_dir_all(&copies).with_context(|| format!("cannot make {}", copies.display()))?;
        let copy = copies.join(folder.file_name().unwrap_or_default());
        fs::copy(binary, &copy).with_context(|| format!("cannot copy {}", binary.display()))?;
        // Until the copy is on the disk, and what was there before is removed from it, all programs are slower.
        run(&mut Command::new("sync"))?;
        let copy = copy.to_str().context("the target folder's name is not text")?.to_owned();
        let prepared = BenchFolder { folder, binary: copy };
        prepared.write_scripts()?;
        Ok(prepared)
    }

    fn write_scripts(&self) -> Result<()> {
        for (name, text) in SCRIPTS {
            fs::write(self.folder.join(name), text).with_context(|| format!("cannot write {name}"))?;
        }
        Ok(())
    }

    fn measure(&self, arguments: &[&str], runs: usize) -> Result<RunFigures> {
        let command: Vec<&str> = std::iter::once(self.binary.as_str()).chain(arguments.iter().copied()).collect();
        measure(&command, &self.home(), &[], runs)
    }

    /// A prompt answered by one of the scripts, in a home with earlier sessions.
    fn prompt(&self, script: &str, runs: usize) -> Result<RunFigures> {
        let (folder, model) = (self.folder(), format!("script/{script}"));
        self.measure(&["-p", "go", "--quiet", "--allow-all", "-C", &folder, "--model", &model], runs)
    }

    /// A prompt in a home that does not exist yet.
    fn first_start(&self) -> Result<RunFigures> {
        let mut samples = Vec::new();
        for _ in 0..RUNS {
            fs::remove_dir_all(self.home()).context("cannot clear the home")?;
            samples.push(self.prompt("one-turn.yaml", 1)?);
        }
        samples.sort_by_key(|figures| figures.wall);
        samples.get(RUNS / 2).copied().context("no runs")
    }

    fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    fn folder(&self) -> String {
        Path::new(&self.folder).display().to_string()
    }
}
