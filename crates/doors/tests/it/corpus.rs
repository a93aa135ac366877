//! Every file of the fuzz corpus, as an ordinary test: no panic, no end that never comes, and no memory without bound.

use std::fs;
use std::path::PathBuf;

use crate::drive;

/// Most memory that this process may have had at once, in KiB.
const PEAK_KIB: u64 = 192 * 1024;

/// Says every file of a corpus, and each cut short at many places.
fn replay(name: &str, drive: fn(&[u8])) {
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

#[test]
fn d6_whatever_a_claude_client_says_is_answered_or_ends_the_door() {
    replay("claude", drive::claude);
}

#[test]
fn d6_whatever_a_copilot_client_says_is_answered_or_ends_the_door() {
    replay("copilot", drive::copilot);
}

#[test]
fn d6_a_message_without_an_end_is_given_up_before_it_is_held() {
    let endless = [b"{\"type\":\"user\",\"x\":\"".as_slice(), &vec![b'a'; 40 << 20]].concat();
    drive::claude(&endless);
    let claimed = [b"Content-Length: 9999999999\r\n\r\n{".as_slice(), &vec![b'a'; 1 << 20]].concat();
    drive::copilot(&claimed);
    drive::copilot(&vec![b'X'; 1 << 20]);
    drive::claude(&b"[".repeat(1 << 20));
}
