//! The input history, stored in Bosun's home and readable only by its owner.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Maximum number of lines kept.
const MAX_LINES: usize = 1000;

/// Maximum size of the file; if it grows larger, the older half is dropped.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Longer texts are not kept.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Earlier input, oldest first.
#[derive(Debug)]
pub struct InputHistory {
    file: PathBuf,
    lines: VecDeque<String>,
    /// Removes secrets from a text.
    redact: fn(String) -> String,
}

impl InputHistory {
    /// Reads the history; it is empty if the file cannot be read. Every text is redacted before it is kept.
    pub fn open(home: &Path, redact: fn(String) -> String) -> InputHistory {
        let file = home.join("history");
        let lines = match read(&file) {
            Ok(lines) => lines,
            Err(error) if error.kind() == io::ErrorKind::NotFound => VecDeque::new(),
            Err(error) => {
                tracing::warn!(%error, "cannot read the input history");
                VecDeque::new()
            }
        };
        InputHistory { file, lines, redact }
    }

    /// A history that stores nothing, for lines that are answers rather than messages.
    pub(super) fn disabled() -> InputHistory {
        InputHistory { file: PathBuf::new(), lines: VecDeque::new(), redact: |text| text }
    }

    /// Returns the text entered `count` texts ago; 0 is the newest.
    pub(super) fn nth_newest(&self, count: usize) -> Option<&str> {
        self.lines.iter().rev().nth(count).map(String::as_str)
    }

    /// Stores a text, unless it starts with a space, is very long, or is already the newest.
    pub(super) fn add(&mut self, text: &str) {
        let skipped = text.trim().is_empty() || text.starts_with(' ') || text.len() > MAX_TEXT_BYTES;
        let text = (self.redact)(text.to_owned());
        if skipped || self.lines.back() == Some(&text) {
            return;
        }
        if let Err(error) = self.write(&text) {
            tracing::warn!(%error, "cannot write the input history");
        }
        self.lines.push_back(text);
        keep_newest(&mut self.lines);
    }

    fn write(&self, text: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.file)?;
        if file.metadata()?.len() > MAX_FILE_BYTES {
            let half = self.lines.iter().skip(self.lines.len() / 2).map(|line| encode_line(line)).collect::<String>();
            let folder = self.file.parent().unwrap_or(Path::new("."));
            let mut shorter = tempfile::NamedTempFile::new_in(folder)?;
            shorter.write_all((half + &encode_line(text)).as_bytes())?;
            shorter.persist(&self.file)?;
            return Ok(());
        }
        // One write, so that two terminals do not mix their lines.
        file.write_all(encode_line(text).as_bytes())
    }
}

fn keep_newest(lines: &mut VecDeque<String>) {
    lines.drain(..lines.len().saturating_sub(MAX_LINES));
}

fn read(file: &Path) -> io::Result<VecDeque<String>> {
    let mut file = File::open(file)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_FILE_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    let mut lines: VecDeque<String> = String::from_utf8_lossy(&bytes).lines().map(decode_line).collect();
    if length > MAX_FILE_BYTES {
        // The first one is only the end of a line.
        lines.pop_front();
    }
    keep_newest(&mut lines);
    Ok(lines)
}

/// Encodes a text as one line of the file.
fn encode_line(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n") + "\n"
}

fn decode_line(line: &str) -> String {
    let mut text = String::new();
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => text.push(if chars.next() == Some('n') { '\n' } else { '\\' }),
            (c, false) => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn history_is_read_back() {
        let home = tempfile::tempdir().unwrap();
        let mut history = InputHistory::open(home.path(), |text| text);
        for text in ["one", "two\nlines \\n", "two\nlines \\n", " not this", "", "three"] {
            history.add(text);
        }
        let again = InputHistory::open(home.path(), |text| text);
        let texts: Vec<_> = (0..9).map_while(|ago| again.nth_newest(ago)).collect();
        assert_eq!(texts, ["three", "two\nlines \\n", "one"]);
        let mode = home.path().join("history").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn secrets_are_redacted() {
        let home = tempfile::tempdir().unwrap();
        let mut history = InputHistory::open(home.path(), |text| text.replace("sk-0123456789", "[redacted]"));
        history.add("use sk-0123456789 as a key");
        assert_eq!(history.nth_newest(0), Some("use [redacted] as a key"));
        assert!(!std::fs::read_to_string(home.path().join("history")).unwrap().contains("sk-0"));
    }

    #[test]
    fn the_file_stays_small() {
        let home = tempfile::tempdir().unwrap();
        let mut history = InputHistory::open(home.path(), |text| text);
        let long = "x".repeat(MAX_TEXT_BYTES - 10);
        (0..200).for_each(|count| history.add(&format!("{count} {long}")));
        history.add(&"y".repeat(MAX_TEXT_BYTES + 1));
        assert!(home.path().join("history").metadata().unwrap().len() < 2 * MAX_FILE_BYTES);
        let again = InputHistory::open(home.path(), |text| text);
        assert!(again.nth_newest(0).unwrap().starts_with("199 ") && again.nth_newest(20).is_some());
        let mode = home.path().join("history").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
