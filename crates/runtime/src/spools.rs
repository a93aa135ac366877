//! Limits the disk space of background commands' output: per command, per session, and by the free space of the disk. A
//! note replaces output that is not stored.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, fs};

use host::Spool;

/// Bytes reserved for the note about missing output.
const NOTE_BYTES: u64 = 200;

/// Limits on the disk space of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpoolLimits {
    /// Maximum bytes of one command's output.
    pub command: u64,
    /// Maximum bytes of the output of all commands of a session together.
    pub session: u64,
    /// Bytes that must stay free on the disk.
    pub min_free: u64,
}

/// Reports the free space of a disk.
pub trait Disk: fmt::Debug + Send + Sync {
    /// The free bytes on the disk of this path.
    fn free_bytes(&self, path: &Path) -> io::Result<u64>;
}

/// The machine's disks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemDisk;

impl Disk for SystemDisk {
    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        host::machine::free_bytes(path)
    }
}

/// The spools of a session.
#[derive(Debug)]
pub struct Spools {
    limits: SpoolLimits,
    disk: Arc<dyn Disk>,
    /// The total size of all spools, once it is known.
    bytes_held: Mutex<Option<u64>>,
}

impl Spools {
    /// Spools with these limits.
    pub fn new(limits: SpoolLimits, disk: Arc<dyn Disk>) -> Spools {
        Spools { limits, disk, bytes_held: Mutex::new(None) }
    }

    /// Creates a spool for a command's output, in a new folder next to those of the other commands.
    pub(crate) fn open(&self, folder: &Path) -> io::Result<SpoolWriter<'_>> {
        {
            let mut held = self.bytes_held.lock().unwrap_or_else(PoisonError::into_inner);
            if held.is_none() {
                *held = Some(folder.parent().map_or(0, total_size));
            }
        }
        let spool = Spool::create(folder, self.limits.command)?;
        Ok(SpoolWriter { spools: self, spool, folder: folder.into(), cutoff_note: None })
    }

    /// Why the output of a command may not grow from `old_size` to `new_size` bytes.
    fn refusal(&self, folder: &Path, old_size: u64, new_size: u64) -> Option<String> {
        let SpoolLimits { session, min_free, .. } = self.limits;
        if self.bytes_held().saturating_sub(old_size).saturating_add(new_size).saturating_add(NOTE_BYTES) > session {
            return Some(format!("the commands of this session have reached their limit of {session} bytes"));
        }
        // If the free space is unknown, the write itself shows whether it fits.
        let free = self.disk.free_bytes(folder).ok()?;
        (free < min_free).then(|| format!("the disk has {free} bytes left, and {min_free} must stay free"))
    }

    fn bytes_held(&self) -> u64 {
        self.bytes_held.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or(0)
    }

    fn record_change(&self, from: u64, to: u64) {
        let mut held = self.bytes_held.lock().unwrap_or_else(PoisonError::into_inner);
        *held = Some(held.unwrap_or(0).saturating_sub(from).saturating_add(to));
    }
}

/// Writes the output of one command, within the limits.
#[derive(Debug)]
pub(crate) struct SpoolWriter<'a> {
    spools: &'a Spools,
    spool: Spool,
    folder: Box<Path>,
    /// The note about output that is not stored.
    cutoff_note: Option<String>,
}

impl SpoolWriter<'_> {
    /// Writes more output. Drops output beyond the limits, and writes a note the first time.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.cutoff_note.is_some() || bytes.is_empty() {
            return Ok(());
        }
        let old_size = self.spool.bytes_on_disk();
        let new_size = self.spool.max_bytes().min(old_size.saturating_add(bytes.len() as u64));
        match self.spools.refusal(&self.folder, old_size, new_size) {
            None => self.append(bytes),
            Some(why) => {
                let note = format!("\n[output after this point is not stored: {why}]\n");
                // If even the note does not fit, the task's result has it.
                let fits = self.spools.bytes_held().saturating_add(note.len() as u64) <= self.spools.limits.session;
                let written = if fits { self.append(note.as_bytes()) } else { Ok(()) };
                self.cutoff_note = Some(note);
                written
            }
        }
    }

    /// The note about output that was not stored.
    pub(crate) fn cutoff_note(&self) -> Option<&str> {
        self.cutoff_note.as_deref()
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let before = self.spool.bytes_on_disk();
        let written = self.spool.write(bytes);
        self.spools.record_change(before, self.spool.bytes_on_disk());
        written
    }
}

/// The total size of the readable files below a folder.
fn total_size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => total_size(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_gone) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[derive(Debug, Default)]
    struct FakeDisk(AtomicU64);

    impl Disk for FakeDisk {
        fn free_bytes(&self, _path: &Path) -> io::Result<u64> {
            Ok(self.0.load(Ordering::Relaxed))
        }
    }

    fn spools(limits: SpoolLimits, free: u64) -> (Spools, Arc<FakeDisk>, tempfile::TempDir) {
        let disk = Arc::new(FakeDisk(AtomicU64::new(free)));
        (Spools::new(limits, Arc::clone(&disk) as Arc<dyn Disk>), disk, tempfile::tempdir().unwrap())
    }

    #[test]
    fn all_commands_of_a_session_stay_under_one_cap() {
        let limits = SpoolLimits { command: 3_000, session: 5_000, min_free: 0 };
        let (spools, _disk, folder) = spools(limits, 0);
        for name in ["a", "b", "c"] {
            let mut writer = spools.open(&folder.path().join(name)).unwrap();
            for line in 0..2_000 {
                writer.write(format!("line {line}\n").as_bytes()).unwrap();
            }
            let on_disk = total_size(folder.path());
            assert!(on_disk <= 5_000, "{name}: {on_disk}");
            let note = writer.cutoff_note().unwrap_or_default();
            assert_eq!(note.contains("is not stored: the commands of this session"), name != "a", "{note}");
        }
        let text = |name: &str| Spool::read(&folder.path().join(name), 8_000).unwrap().into_string();
        assert!(text("a").ends_with("line 1999\n"), "the first has its tail");
        assert!(text("b").contains("point is not stored: the commands of this session"), "{}", text("b"));
        // Another process resumes the session and counts the existing output.
        let resumed = Spools::new(limits, Arc::new(FakeDisk::default()));
        let mut writer = resumed.open(&folder.path().join("d")).unwrap();
        writer.write(b"more\n").unwrap();
        assert!(total_size(folder.path()) <= 5_000 && writer.cutoff_note().is_some());
    }

    #[test]
    fn output_is_cut_off_with_a_note_when_the_disk_is_almost_full() {
        let limits = SpoolLimits { command: 30_000, session: 100_000, min_free: 1_000 };
        let (spools, disk, folder) = spools(limits, 1_000);
        let mut writer = spools.open(&folder.path().join("a")).unwrap();
        writer.write(b"before\n").unwrap();
        disk.0.store(999, Ordering::Relaxed);
        writer.write(b"meanwhile\n").unwrap();
        disk.0.store(9_999, Ordering::Relaxed);
        writer.write(b"after\n").unwrap();
        let text = Spool::read(&folder.path().join("a"), 8_000).unwrap().into_string();
        let expected =
            "before\n\n[output after this point is not stored: the disk has 999 bytes left, and 1000 must stay free]\n";
        assert_eq!(text, expected);
    }
}
