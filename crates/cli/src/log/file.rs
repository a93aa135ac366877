//! The log's file, which several processes append to.
//!
//! A process that finds the log too large rotates it: it locks the file, checks that the path still names that file,
//! and renames it. The older files move first, so the new file cannot need rotation meanwhile. Other processes notice
//! the changed path and open the new file; a line being written at that moment goes to the old file and is not lost.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tracing_subscriber::fmt::MakeWriter;

/// A log larger than this is rotated.
const MAX_LOG_BYTES: u64 = 4 << 20;

/// The number of rotated logs that are kept.
const ROTATED_FILES: u32 = 3;

/// The number of bytes read from the log's end.
const TAIL_BYTES: u64 = 64 << 10;

/// The log file, opened at the first write.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    max_bytes: u64,
    open: Mutex<Option<File>>,
}

impl LogFile {
    pub(super) fn new(path: PathBuf) -> LogFile {
        LogFile { path, max_bytes: MAX_LOG_BYTES, open: Mutex::new(None) }
    }

    fn append(&self, line: &[u8]) -> io::Result<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match open.take() {
            Some(file) if self.is_current(&file) => file,
            Some(_) | None => self.reopen()?,
        };
        let mut file = if file.metadata()?.len() > self.max_bytes { self.rotate(file)? } else { file };
        // A single write keeps lines of several processes apart.
        let written = file.write_all(line);
        *open = Some(file);
        written
    }

    fn reopen(&self) -> io::Result<File> {
        OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path)
    }

    /// Whether the path still names this file.
    fn is_current(&self, file: &File) -> bool {
        let (Ok(at_path), Ok(of_file)) = (fs::metadata(&self.path), file.metadata()) else { return false };
        (at_path.dev(), at_path.ino()) == (of_file.dev(), of_file.ino())
    }

    /// Renames the file, unless another process does so or has done so; returns the file to write to.
    fn rotate(&self, file: File) -> io::Result<File> {
        if file.try_lock().is_err() {
            return Ok(file);
        }
        if self.is_current(&file) {
            for age in (1..ROTATED_FILES).rev() {
                // A file that does not exist yet need not move.
                let _missing = fs::rename(self.rotated_path(age), self.rotated_path(age + 1));
            }
            fs::rename(&self.path, self.rotated_path(1))?;
        }
        self.reopen()
    }

    fn rotated_path(&self, age: u32) -> PathBuf {
        self.path.with_extension(format!("log.{age}"))
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = LogLineWriter<'a>;

    fn make_writer(&'a self) -> LogLineWriter<'a> {
        LogLineWriter(self)
    }
}

/// Writes one line to the file. A log that cannot be written is not a reason to stop working.
#[derive(Debug)]
pub(super) struct LogLineWriter<'a>(&'a LogFile);

impl Write for LogLineWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _lost = self.0.append(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The last lines of a file, at most `max_lines`; none if it cannot be read.
pub(super) fn tail(path: &Path, max_lines: usize) -> Vec<String> {
    let read = || -> io::Result<String> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut end = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut end)?;
        Ok(String::from_utf8_lossy(&end).into_owned())
    };
    let end = read().unwrap_or_default();
    let mut lines: Vec<String> = end.lines().rev().take(max_lines).map(str::to_owned).collect();
    lines.reverse();
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::thread;

    use super::*;

    fn log(folder: &Path, max_bytes: u64) -> LogFile {
        LogFile { max_bytes, ..LogFile::new(folder.join("bosun.log")) }
    }

    fn lines(folder: &Path) -> Vec<String> {
        let names = ["bosun.log.3", "bosun.log.2", "bosun.log.1", "bosun.log"];
        let text: String = names.iter().filter_map(|name| fs::read_to_string(folder.join(name)).ok()).collect();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn large_log_is_rotated_and_three_files_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let log = log(folder.path(), 100);
        for number in 0..100 {
            log.append(format!("{number:019}\n").as_bytes()).unwrap();
        }
        let kept = lines(folder.path());
        assert_eq!(kept.last().unwrap(), &format!("{:019}", 99));
        assert!(kept.windows(2).all(|pair| pair[0] < pair[1]), "in order: {kept:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
        for file in fs::read_dir(folder.path()).unwrap() {
            assert_eq!(file.unwrap().metadata().unwrap().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn concurrent_writers_lose_and_mix_no_lines() {
        const WRITERS: usize = 8;
        const LINES: usize = 200;
        let folder = tempfile::tempdir().unwrap();
        // Each writer has its own descriptor, like a process. The limit is large enough for at most three rotations.
        let max_bytes = (WRITERS * LINES * 20 / 3) as u64;
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let log = log(folder.path(), max_bytes);
                scope.spawn(move || {
                    for number in 0..LINES {
                        log.append(format!("{writer:09} {number:09}\n").as_bytes()).unwrap();
                    }
                });
            }
        });
        let all = lines(folder.path());
        assert_eq!(all.len(), WRITERS * LINES);
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), WRITERS * LINES);
        assert!(all.iter().all(|line| line.len() == 19));
        assert!(folder.path().join("bosun.log.1").exists());
    }

    #[test]
    fn only_the_end_of_a_long_log_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bosun.log");
        fs::write(&path, "early\n".repeat(100_000) + "last but one\nlast\n").unwrap();
        assert_eq!(tail(&path, 2), ["last but one", "last"]);
        assert!(tail(&path, usize::MAX).len() < 20_000);
        assert!(tail(&folder.path().join("none"), 2).is_empty());
    }
}
