//! A background command's output, stored on disk under a size limit: its head and its tail.
//!
//! A spool is a folder of segments, each named by the offset of its first byte in the stream. The writer only appends
//! to the last segment and removes an old one before it starts a new one, so the folder never exceeds the limit. A
//! reader in any process always gets an unaltered part of the stream, without coordination with the writer.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use protocol::Clip;

use super::capture::{StreamEnds, render};

/// The writing end of a spool.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    /// The maximum size of a segment: the head is one, the tail is two.
    max_segment_bytes: u64,
    file: File,
    /// The offsets of the tail's segments, oldest first.
    tail: Vec<u64>,
    total: u64,
}

impl Spool {
    /// Creates an empty spool in a new folder, which never holds more than `cap` bytes.
    pub fn create(folder: &Path, cap: u64) -> io::Result<Spool> {
        fs::create_dir_all(folder)?;
        let file = create_segment(folder, 0)?;
        Ok(Spool { folder: folder.to_owned(), max_segment_bytes: (cap / 3).max(1), file, tail: Vec::new(), total: 0 })
    }

    /// Appends the next bytes of the stream. After an error the bytes already counted stay readable.
    pub fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.free_segment_bytes() == 0 {
                self.begin_segment()?;
            }
            let room = usize::try_from(self.free_segment_bytes()).unwrap_or(usize::MAX);
            let written = self.file.write(&bytes[..bytes.len().min(room)])?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.total += written as u64;
            bytes = &bytes[written..];
        }
        Ok(())
    }

    /// The number of bytes in the stream so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The number of bytes in its folder.
    pub fn bytes_on_disk(&self) -> u64 {
        self.tail.first().map_or(self.total, |start| self.max_segment_bytes + self.total - start)
    }

    /// The maximum number of bytes in its folder.
    pub fn max_bytes(&self) -> u64 {
        self.max_segment_bytes * 3
    }

    /// The stream of the spool in `folder` as plain text of at most `max` bytes, with a note of how much was left out.
    pub fn read(folder: &Path, max: usize) -> io::Result<Clip> {
        let mut head = Vec::new();
        let mut tail = Vec::new();
        let mut total = 0;
        for start in segment_starts(folder)? {
            let Some(bytes) = read_segment(folder, start)? else { continue };
            // The writer may have removed a segment since its neighbours were read.
            if start != 0 && start != total {
                tail.clear();
            }
            total = start + bytes.len() as u64;
            if start == 0 { head = bytes } else { tail.extend_from_slice(&bytes) }
        }
        Ok(render(&StreamEnds { head: &head, tail: &tail, total }, max))
    }

    /// The free bytes in the last segment.
    fn free_segment_bytes(&self) -> u64 {
        let start = self.tail.last().copied().unwrap_or(0);
        self.max_segment_bytes - (self.total - start)
    }

    fn begin_segment(&mut self) -> io::Result<()> {
        if self.tail.len() == 2 {
            fs::remove_file(self.folder.join(segment_name(self.tail[0])))?;
            self.tail.remove(0);
        }
        self.file = create_segment(&self.folder, self.total)?;
        self.tail.push(self.total);
        Ok(())
    }
}

/// A segment's file name; names sort as their offsets do.
fn segment_name(start: u64) -> String {
    format!("{start:020}")
}

fn create_segment(folder: &Path, start: u64) -> io::Result<File> {
    OpenOptions::new().append(true).create_new(true).open(folder.join(segment_name(start)))
}

fn segment_starts(folder: &Path) -> io::Result<Vec<u64>> {
    let mut starts = Vec::new();
    for entry in fs::read_dir(folder)? {
        starts.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u64>().ok()));
    }
    starts.sort_unstable();
    Ok(starts)
}

fn read_segment(folder: &Path, start: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    match File::open(folder.join(segment_name(start))) {
        Ok(mut file) => file.read_to_end(&mut bytes).map(|_| Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn on_disk(folder: &Path) -> u64 {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
    }

    #[test]
    fn a_short_stream_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(&folder.path().join("new"), 600).unwrap();
        assert_eq!(Spool::read(&folder.path().join("new"), 1000).unwrap().as_str(), "");
        for line in 0..40 {
            spool.write(format!("line {line}\n").as_bytes()).unwrap();
        }
        let expected: String = (0..40).map(|line| format!("line {line}\n")).collect();
        assert_eq!(Spool::read(&folder.path().join("new"), 1000).unwrap().as_str(), expected);
        assert_eq!(spool.bytes_on_disk(), on_disk(&folder.path().join("new")));
        assert!(Spool::create(&folder.path().join("new"), 600).is_err(), "an existing spool is not overwritten");
    }

    #[test]
    fn the_disk_never_holds_more_than_the_cap() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(folder.path(), 3000).unwrap();
        for line in 0..20_000 {
            spool.write(format!("{line}\n").as_bytes()).unwrap();
            if line % 50 == 0 {
                assert!(on_disk(folder.path()) <= 3000);
            }
        }
        let text = Spool::read(folder.path(), 1500).unwrap().into_string();
        assert!(text.starts_with("0\n1\n2\n") && text.ends_with("19998\n19999\n"), "{text}");
        assert!(text.contains("bytes left out"));
        assert!(text.len() <= 1500);
    }

    #[test]
    fn a_reader_gets_unaltered_parts_while_the_writer_runs() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(folder.path(), 900).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..30_000).for_each(|line| spool.write(format!("{line:05}\n").as_bytes()).unwrap());
                stop.store(true, Ordering::Release);
            });
            while !stop.load(Ordering::Acquire) {
                let text = Spool::read(folder.path(), 600).unwrap().into_string();
                let lines: Vec<u32> = text.lines().filter(|l| l.len() == 5).flat_map(str::parse).collect();
                assert!(lines.is_sorted(), "{text}");
                assert!(lines.is_empty() || lines[0] == 0, "{text}");
            }
        });
    }
}
