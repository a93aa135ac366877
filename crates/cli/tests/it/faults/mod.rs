//! Disks that fill, homes that cannot be used, and files that are not what was written: a clear word, the right exit
//! code, and no harm to any other session.

mod damage;
mod disks;
mod homes;

use std::fs;
use std::path::Path;

/// Where a file is, as messages name it.
fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Writes a file as it was, without what SQLite keeps beside it.
fn restore(path: &Path, whole: &[u8]) {
    for ending in ["-wal", "-shm"] {
        // Beside a file that is at rest there may be neither.
        let _missing = fs::remove_file(format!("{}{ending}", shown(path)));
    }
    fs::write(path, whole).unwrap();
}
