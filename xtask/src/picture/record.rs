//! A fleet that is killed and resumed, line by line with its times.

use std::fs;
use std::io::{self, BufRead, BufReader, PipeReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::run::{output, run};

/// The line at which the process is killed: the check has denied a worker's claim.
const KILL_AT: &str = "not done yet";

/// How long a command stands alone before its first line appears.
const TYPED: Duration = Duration::from_millis(300);

const RUN: &str = "bosun fleet run ../plan.yaml --merge --model script/../fix.yaml --allow-all";
const RESUME: &str = "bosun fleet resume";

/// A line of the recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecordedLine {
    /// Since the recording began.
    pub(super) at: Duration,
    pub(super) text: String,
}

/// The demo's sample before any agent worked on it, in a temporary folder.
pub(super) struct DemoProject {
    bosun: PathBuf,
    folder: PathBuf,
}

impl DemoProject {
    /// Lets the demo make its sample, and takes back what the fleet did to it.
    pub(super) fn make(bosun: &Path) -> Result<DemoProject> {
        let folder = std::env::temp_dir().join(format!("bosun-picture-{}", std::process::id()));
        fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let made = DemoProject { bosun: bosun.to_owned(), folder };
        let sample = made.folder.join("sample").display().to_string();
        run(made
            .bosun(&made.folder, &["demo", "--fast", "--dir", &sample])
            .stdout(Stdio::null())
            .stderr(Stdio::null()))?;
        let git = |arguments: &[&str]| -> Command {
            let mut command = Command::new("git");
            command.args(arguments).current_dir(made.project());
            command
        };
        let first = output(&mut git(&["rev-list", "--max-parents=0", "HEAD"]))?;
        run(&mut git(&["reset", "--quiet", "--hard", first.trim()]))?;
        Ok(made)
    }

    /// Runs the fleet, kills it, and resumes it.
    pub(super) fn record(&self) -> Result<Vec<RecordedLine>> {
        let mut recording = Recording::default();
        recording.show(format!("$ {RUN}"));
        let (mut fleet, output) = self.start(RUN)?;
        if !recording.follow(output, Some(KILL_AT))? {
            bail!("the fleet ended before a check denied a claim: nothing was killed");
        }
        recording.show(format!("$ kill -9 {}", fleet.id()));
        fleet.kill().context("cannot kill the fleet")?;
        fleet.wait().context("cannot wait for the fleet")?;
        recording.show(format!("$ {RESUME}"));
        let (mut resumed, output) = self.start(RESUME)?;
        recording.follow(output, None)?;
        let status = resumed.wait().context("cannot wait for the fleet")?;
        if !status.success() {
            bail!("the resumed fleet failed ({status})");
        }
        Ok(recording.lines)
    }

    fn project(&self) -> PathBuf {
        self.folder.join("sample/project")
    }

    fn bosun(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.bosun);
        command.args(arguments).current_dir(folder).stdin(Stdio::null());
        command.env("HOME", &self.folder).env("BOSUN_HOME", self.folder.join("home"));
        command
    }

    /// Starts a command as it is shown, with one pipe for both its streams.
    fn start(&self, shown: &str) -> Result<(Child, PipeReader)> {
        let arguments: Vec<&str> = shown.split(' ').skip(1).collect();
        let (reader, writer) = io::pipe().context("cannot make a pipe")?;
        let mut command = self.bosun(&self.project(), &arguments);
        command.stdout(writer.try_clone().context("cannot copy a pipe")?).stderr(writer);
        let child = command.spawn().with_context(|| format!("cannot start `{shown}`"))?;
        Ok((child, reader))
    }
}

impl Drop for DemoProject {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            eprintln!("picture: {} stays: {error}", self.folder.display());
        }
    }
}

/// The lines so far.
#[derive(Default)]
struct Recording {
    lines: Vec<RecordedLine>,
    at: Duration,
}

impl Recording {
    /// Adds a command as a user would type it.
    fn show(&mut self, text: String) {
        self.at += TYPED;
        self.lines.push(RecordedLine { at: self.at, text });
        self.at += TYPED;
    }

    /// Adds the lines of a process, until one contains `until`; returns whether one did.
    fn follow(&mut self, output: PipeReader, until: Option<&str>) -> Result<bool> {
        let (start, began) = (Instant::now(), self.at);
        for line in BufReader::new(output).lines() {
            let text = line.context("cannot read from the fleet")?;
            self.at = began + start.elapsed();
            let is_last = until.is_some_and(|until| text.contains(until));
            self.lines.push(RecordedLine { at: self.at, text });
            if is_last {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
