//! What a person is told once: it holds for every run, and would only be noise from the second time on.

use std::fs::OpenOptions;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use host::Home;

use crate::print;

/// The file in Bosun's home that keeps what was told.
const FILE: &str = "told";

/// Most bytes of that file that are read; beyond them everything counts as told.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Tells what was not told before.
pub(crate) fn print_once(home: &Home, words: impl IntoIterator<Item = String>) {
    let path = home.root().join(FILE);
    let mut known = None;
    for text in words {
        let known = known.get_or_insert_with(|| {
            let bytes = host::read_plain(&path, MAX_FILE_BYTES).ok().flatten().unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let mark = fingerprint(&text);
        if known.lines().any(|line| line == mark) {
            continue;
        }
        print::note(print::sanitize(&text));
        known.push_str(&format!("{mark}\n"));
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        // A home that cannot be written is told of elsewhere.
        let _untold = file.and_then(|mut file| writeln!(file, "{mark}"));
    }
}

fn fingerprint(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
