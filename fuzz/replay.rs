//! Says every file of a corpus to whatever reads it. The tests that replay the corpora share it.

use std::fs;
use std::path::PathBuf;

/// Most memory that this process may have had at once, in KiB.
const PEAK_KIB: u64 = 192 * 1024;

/// Says every file of a corpus, and each cut short at many places.
pub(crate) fn replay(name: &str, drive: fn(&[u8])) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 8, "{} has {} files", folder.display(), files.len());
    for file in files {
        let bytes = fs::read(&file).unwrap();
        drive(&bytes);
        for eighth in 1..8 {
            drive(&bytes[..bytes.len() * eighth / 8]);
        }
    }
    assert!(peak_kib() < PEAK_KIB, "{} KiB at once", peak_kib());
}

fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
