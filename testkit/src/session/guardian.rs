//! Finds the guardian program.

use std::path::PathBuf;

/// The `bosun` executable built next to this test.
pub fn guardian() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.ancestors().skip(1).take(2).map(|folder| folder.join("bosun")).find(|path| path.is_file());
    built.unwrap_or_else(|| {
        panic!("no `bosun` executable next to {}; run `cargo build` first, or `cargo xtask test`", test.display())
    })
}
