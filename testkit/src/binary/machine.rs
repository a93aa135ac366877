//! The machine that the tests run on.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::PATIENCE;

/// The user `nobody`, and its group.
pub const NOBODY: u32 = 65534;

/// Whether the tests run as root.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Polls until `done` returns true; fails after `limit`.
#[track_caller]
pub fn within(limit: Duration, what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < limit, "not within {limit:?}: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The peak memory of a process until its end, in KiB.
#[track_caller]
pub fn peak_memory(pid: u32) -> u64 {
    let mut peak = 0;
    within(PATIENCE, "the end of the process", || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        peak = peak.max(now.unwrap_or(0));
        now.is_none()
    });
    peak
}

/// A number of seconds to sleep that no other `sleep` on this machine uses.
pub fn unique_sleep() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("1000.{}{:05}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The command lines of living processes that contain this text.
pub fn commands_with(text: &str) -> Vec<String> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let numbers = pids.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    numbers.filter_map(|pid| living_command(&pid)).filter(|command| command.contains(text)).collect()
}

fn living_command(pid: &str) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let state = stat.rsplit_once(')')?.1.split_whitespace().next()?;
    let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    (state != "Z").then(|| String::from_utf8_lossy(&command).replace('\0', " "))
}
