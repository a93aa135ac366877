//! Notices that are printed once: they hold for every run and would only be noise from the second time on.

use std::fs::OpenOptions;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use host::Home;
use tui::print;

/// The file in Bosun's home that records printed notices.
const FILE_NAME: &str = "told";

/// The maximum size of that file; a larger one counts as empty.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Prints the notices that were not printed before.
pub(crate) fn print_once(home: &Home, notices: impl IntoIterator<Item = String>) {
    let path = home.root().join(FILE_NAME);
    let mut printed = None;
    for text in notices {
        let printed = printed.get_or_insert_with(|| {
            let bytes = host::read_plain(&path, MAX_FILE_BYTES).ok().flatten().unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let digest = fingerprint(&text);
        if printed.lines().any(|line| line == digest) {
            continue;
        }
        print::note(print::sanitize(&text));
        printed.push_str(&format!("{digest}\n"));
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        // An unwritable home is reported elsewhere.
        let _unwritten = file.and_then(|mut file| writeln!(file, "{digest}"));
    }
}

fn fingerprint(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
