//! The test kit's model server in a separate process.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::run::target_dir;

/// The length of a kernel clock tick.
const TICK: Duration = Duration::from_millis(10);

/// The model server, stopped when dropped.
pub(super) struct BenchServer {
    process: Child,
    pub(super) url: String,
}

impl BenchServer {
    /// Starts a server that plays `script`, with further flags.
    pub(super) fn start(script: &Path, latency: &str, flags: &[&str]) -> Result<BenchServer> {
        let program = target_dir().join("release/model-server");
        let mut process = Command::new(program)
            .arg("--script")
            .arg(script)
            .args(["--latency", latency])
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the model server")?;
        let stdout = process.stdout.take().context("the model server has no output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).context("cannot read from the model server")?;
        let url = line.trim().strip_prefix("listening on ").context("the model server did not print its address")?;
        Ok(BenchServer { process, url: url.to_owned() })
    }

    /// The CPU time it has used.
    pub(super) fn cpu(&self) -> Result<Duration> {
        cpu_of(self.process.id())
    }
}

/// The CPU time that a process has used.
pub(super) fn cpu_of(process: u32) -> Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).context("the server is gone")?;
    // The name before the last parenthesis may contain anything.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u32>().ok()).unwrap_or_default();
    Ok(TICK * (ticks(11) + ticks(12)))
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        // It may have ended already.
        let _gone = self.process.kill().and_then(|()| self.process.wait());
    }
}
