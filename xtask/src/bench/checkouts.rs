//! Isolated workers in a large repository, compared with `git worktree add` for as many worktrees.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::BenchFolder;
use crate::run::run;

/// Number of folders in the repository, and of files in each.
const FOLDERS: usize = 1_000;
const FILES: usize = 100;

/// How long ext4 without a journal does not reuse the inode of a removed file. Until then it checks each of them
/// whenever a file is created, so work after the removal of many files is many times slower.
const INODES: Duration = Duration::from_secs(70);

/// Numbers of concurrent workers.
const WORKERS: [usize; 2] = [1, 4];

/// Every worker writes one file.
const SCRIPT: &str = "version: 1
rules:
  - when: { turn: 1 }
    answer: [call: { tool: shell, input: { description: x, command: 'date > made-$RANDOM.txt' } }]
  - answer: [ { say: Done. } ]
";

/// Creates the repository, measures both, and prints the table.
pub(super) fn bench(ground: &BenchFolder) -> Result<()> {
    let top = ground.folder.join("large");
    make(&top)?;
    fs::write(ground.folder.join("checkouts.yaml"), SCRIPT).context("cannot write the script")?;
    println!("Isolated workers in a repository of {} files:\n", FOLDERS * FILES);
    println!("| workers | git worktree add | fleet | ratio | peak memory |");
    println!("|---:|---:|---:|---:|---:|");
    for workers in WORKERS {
        // Neither side must pay for files removed or written before it; the worktrees stay until the end for the same
        // reason.
        std::thread::sleep(INODES);
        run(&mut Command::new("sync"))?;
        let trees = worktrees(ground, &top, workers)?;
        let plan = ground.folder.join(format!("checkouts-{workers}.yaml"));
        fs::write(&plan, text(workers)).context("cannot write a plan")?;
        let (plan, folder) = (plan.display().to_string(), top.display().to_string());
        let model = format!("script/{}", ground.folder.join("checkouts.yaml").display());
        let isolated = ["--isolation", "worktree", "--fresh", "--allow-all", "-C", &folder, "--model", &model];
        run(&mut Command::new("sync"))?;
        let fleet = ground.measure(&[&["fleet", "run", plan.as_str()][..], &isolated].concat(), 1)?;
        let (wall, add) = (fleet.wall.as_secs_f64(), trees.as_secs_f64());
        let mib = fleet.peak_kib as f64 / 1024.0;
        println!("| {workers} | {add:.1} s | {wall:.1} s | {:.2} | {mib:.0} MiB |", wall / add);
    }
    println!();
    Ok(())
}

/// A repository of many small files, in one commit.
fn make(top: &Path) -> Result<()> {
    for folder in 0..FOLDERS {
        let path = top.join(format!("part-{}/folder-{folder}", folder % 20));
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        for file in 0..FILES {
            let line = format!("{folder} {file}\n");
            fs::write(path.join(format!("file-{file}.txt")), line.repeat(20)).context("cannot write a file")?;
        }
    }
    let own = ["-c", "user.name=bench", "-c", "user.email=bench@example.invalid"];
    run(git(top).args(["init", "--quiet"]))?;
    run(git(top).args(["add", "--all"]))?;
    run(git(top).args(own).args(["commit", "--quiet", "-m", "all"]))
}

/// How long git takes to add this many worktrees at once.
fn worktrees(ground: &BenchFolder, top: &Path, count: usize) -> Result<Duration> {
    let paths: Vec<_> = (0..count).map(|n| ground.folder.join(format!("tree-{count}-{n}"))).collect();
    let began = Instant::now();
    let started = paths.iter().map(|path| git(top).args(["worktree", "add", "--quiet", "--detach"]).arg(path).spawn());
    for child in started.collect::<Vec<_>>() {
        child.context("cannot start git")?.wait().context("git does not end")?;
    }
    Ok(began.elapsed())
}

fn git(top: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(top);
    command
}

/// A plan of independent todos.
fn text(todos: usize) -> String {
    let mut text = "todos:\n".to_owned();
    for n in 0..todos {
        // Writing to a string cannot fail.
        let _written = writeln!(text, "  - {{ id: t{n}, title: Do {n} }}");
    }
    text
}
