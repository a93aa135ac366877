//! How much memory all processes below this one have.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// The most KiB that they had at any look, until whoever holds the other end is gone.
pub(crate) fn peak_kib(ended: &Receiver<()>, every: Duration) -> u64 {
    let mut peak = 0;
    while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
        peak = peak.max(children("self").iter().map(|child| tree_kib(child)).sum());
    }
    peak
}

/// What a process has with all below it. Pages that processes share count for each.
fn tree_kib(process: &str) -> u64 {
    own_kib(process) + children(process).iter().map(|child| tree_kib(child)).sum::<u64>()
}

/// What a process has; nothing when it is gone.
fn own_kib(process: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    resident.and_then(|words| words.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// The processes that a process started or took over, whichever of its threads did.
fn children(process: &str) -> Vec<String> {
    let Ok(threads) = fs::read_dir(Path::new("/proc").join(process).join("task")) else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}
