//! Full disks, unusable homes and damaged files: a clear message, the right exit code, and no effect on other
//! sessions.

mod damage;
mod disks;
mod homes;

use std::fs;
use std::path::Path;

/// A path as text, as messages show it.
fn path_text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Restores a file's contents and removes SQLite's files beside it.
fn restore(path: &Path, whole: &[u8]) {
    for ending in ["-wal", "-shm"] {
        // They may not exist.
        let _missing = fs::remove_file(format!("{}{ending}", path_text(path)));
    }
    fs::write(path, whole).unwrap();
}
