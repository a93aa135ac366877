//! The test kit's model server in a process of its own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::run::target_dir;

/// How long a tick of the kernel's clock is.
const TICK: Duration = Duration::from_millis(10);

/// The model server, ended with its owner.
pub(super) struct BenchServer {
    process: Child,
    pub(super) url: String,
}

impl BenchServer {
    /// Starts a server that answers by `script`, with more flags of its own.
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
        BufReader::new(stdout).read_line(&mut line).context("cannot hear the model server")?;
        let url = line.trim().strip_prefix("listening on ").context("the model server does not say where it is")?;
        Ok(BenchServer { process, url: url.to_owned() })
    }

    /// How much processor time it has used.
    pub(super) fn cpu(&self) -> Result<Duration> {
        cpu_of(self.process.id())
    }
}

/// How much processor time a process has used.
pub(super) fn cpu_of(process: u32) -> Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).context("the server is gone")?;
    // The name before the last bracket may hold anything.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u32>().ok()).unwrap_or_default();
    Ok(TICK * (ticks(11) + ticks(12)))
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        // One that is gone already is as good.
        let _gone = self.process.kill().and_then(|()| self.process.wait());
    }
}
