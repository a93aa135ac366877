//! Finds the program that guards what shell tools start.

use std::path::PathBuf;

/// The `bosun` executable that was built beside this test.
pub fn guardian() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.ancestors().skip(1).take(2).map(|folder| folder.join("bosun")).find(|path| path.is_file());
    built.unwrap_or_else(|| {
        panic!("no `bosun` executable beside {}; run `cargo build` first, or `cargo xtask test`", test.display())
    })
}
