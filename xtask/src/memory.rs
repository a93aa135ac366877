//! Measures the memory of all descendants of this process.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// The peak of the samples in KiB, taken until the sender is dropped.
pub(crate) fn peak_kib(ended: &Receiver<()>, every: Duration) -> u64 {
    let mut peak = 0;
    while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
        peak = peak.max(children("self").iter().map(|child| tree_kib(child)).sum());
    }
    peak
}

/// The memory of a process and its descendants. Shared pages count for each.
fn tree_kib(process: &str) -> u64 {
    own_kib(process) + children(process).iter().map(|child| tree_kib(child)).sum::<u64>()
}

/// The memory of a process; 0 if it has ended.
pub(crate) fn own_kib(process: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    resident.and_then(|words| words.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// How many descendants a process has.
pub(crate) fn descendants(process: &str) -> usize {
    children(process).iter().map(|child| 1 + descendants(child)).sum()
}

/// The children of all threads of a process.
fn children(process: &str) -> Vec<String> {
    let Ok(threads) = fs::read_dir(Path::new("/proc").join(process).join("task")) else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}
