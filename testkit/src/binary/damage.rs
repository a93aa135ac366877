//! Damages files.

use std::fs::OpenOptions;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Cuts a file to this length.
#[track_caller]
pub fn truncate(path: &Path, length: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(length).unwrap();
}

/// Overwrites a part of a file with garbage.
#[track_caller]
pub fn garble(path: &Path, part: Range<usize>) {
    let noise: Vec<u8> = part.clone().map(|at| (at.wrapping_mul(167) >> 3) as u8 ^ 0xA5).collect();
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&noise, part.start as u64).unwrap();
}

/// Changes SQLite's user version, which holds the format version of a file.
#[track_caller]
pub fn set_format(path: &Path, version: u32) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&version.to_be_bytes(), 60).unwrap();
}
