//! How much of the disk the output of background commands takes: each of them, all of a session, and never the last of
//! it. What is no longer kept is said where it would have been.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, fs};

use tools::Spool;

/// Room that a command leaves for the words that say why the rest is missing.
const NOTE: u64 = 200;

/// How much disk output may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpoolLimits {
    /// Bytes of one command.
    pub command: u64,
    /// Bytes of all commands of a session together.
    pub session: u64,
    /// Bytes that stay free on the disk.
    pub min_free: u64,
}

/// A disk, as far as it can be asked how full it is.
pub trait Disk: fmt::Debug + Send + Sync {
    /// How many bytes are free where this path is.
    fn free(&self, path: &Path) -> io::Result<u64>;
}

/// The machine's disks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemDisk;

impl Disk for SystemDisk {
    fn free(&self, path: &Path) -> io::Result<u64> {
        host::machine::free_bytes(path)
    }
}

/// The spools of a session.
#[derive(Debug)]
pub struct Spools {
    limits: SpoolLimits,
    disk: Arc<dyn Disk>,
    /// How many bytes all of them hold, once it was looked at.
    bytes_held: Mutex<Option<u64>>,
}

impl Spools {
    /// Spools that hold no more than this.
    pub fn new(limits: SpoolLimits, disk: Arc<dyn Disk>) -> Spools {
        Spools { limits, disk, bytes_held: Mutex::new(None) }
    }

    /// Begins to keep what a command prints, in a new folder beside those of the others.
    pub(crate) fn open(&self, folder: &Path) -> io::Result<SpoolWriter<'_>> {
        {
            let mut held = self.bytes_held.lock().unwrap_or_else(PoisonError::into_inner);
            if held.is_none() {
                *held = Some(folder.parent().map_or(0, size));
            }
        }
        let spool = Spool::create(folder, self.limits.command)?;
        Ok(SpoolWriter { spools: self, spool, folder: folder.into(), cutoff_note: None })
    }

    /// Why a command that holds `now` bytes may not hold `next`.
    fn refusal(&self, folder: &Path, now: u64, next: u64) -> Option<String> {
        let SpoolLimits { session, min_free, .. } = self.limits;
        if self.bytes_held().saturating_sub(now).saturating_add(next).saturating_add(NOTE) > session {
            return Some(format!("the commands of this session have filled the {session} bytes that they may"));
        }
        // A disk that cannot be asked is found out about by writing to it.
        let free = self.disk.free(folder).ok()?;
        (free < min_free).then(|| format!("the disk has {free} bytes left, and {min_free} are to stay free"))
    }

    fn bytes_held(&self) -> u64 {
        self.bytes_held.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or(0)
    }

    fn record_change(&self, from: u64, to: u64) {
        let mut held = self.bytes_held.lock().unwrap_or_else(PoisonError::into_inner);
        *held = Some(held.unwrap_or(0).saturating_sub(from).saturating_add(to));
    }
}

/// What one command printed, as far as it is kept.
#[derive(Debug)]
pub(crate) struct SpoolWriter<'a> {
    spools: &'a Spools,
    spool: Spool,
    folder: Box<Path>,
    /// Why the rest is not kept.
    cutoff_note: Option<String>,
}

impl SpoolWriter<'_> {
    /// Takes more output. What has no room is dropped, and the first time that is said.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.cutoff_note.is_some() || bytes.is_empty() {
            return Ok(());
        }
        let now = self.spool.on_disk();
        let next = self.spool.most().min(now.saturating_add(bytes.len() as u64));
        match self.spools.refusal(&self.folder, now, next) {
            None => self.append(bytes),
            Some(why) => {
                let note = format!("\n[from here on nothing is kept: {why}]\n");
                // Where not even this has room, the task's result says it.
                let fits = self.spools.bytes_held().saturating_add(note.len() as u64) <= self.spools.limits.session;
                let written = if fits { self.append(note.as_bytes()) } else { Ok(()) };
                self.cutoff_note = Some(note);
                written
            }
        }
    }

    /// What is said in place of what was not kept.
    pub(crate) fn cutoff_note(&self) -> Option<&str> {
        self.cutoff_note.as_deref()
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let before = self.spool.on_disk();
        let written = self.spool.write(bytes);
        self.spools.record_change(before, self.spool.on_disk());
        written
    }
}

/// How many bytes the files below a folder hold, as far as they can be seen.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => size(&entry.path()),
            Ok(found) => found.len(),
            Err(_gone) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[derive(Debug, Default)]
    struct Filling(AtomicU64);

    impl Disk for Filling {
        fn free(&self, _path: &Path) -> io::Result<u64> {
            Ok(self.0.load(Ordering::Relaxed))
        }
    }

    fn spools(limits: SpoolLimits, free: u64) -> (Spools, Arc<Filling>, tempfile::TempDir) {
        let disk = Arc::new(Filling(AtomicU64::new(free)));
        (Spools::new(limits, Arc::clone(&disk) as Arc<dyn Disk>), disk, tempfile::tempdir().unwrap())
    }

    #[test]
    fn all_commands_of_a_session_stay_under_one_cap() {
        let limits = SpoolLimits { command: 3_000, session: 5_000, min_free: 0 };
        let (spools, _disk, folder) = spools(limits, 0);
        for name in ["a", "b", "c"] {
            let mut keeping = spools.open(&folder.path().join(name)).unwrap();
            for line in 0..2_000 {
                keeping.write(format!("line {line}\n").as_bytes()).unwrap();
            }
            let on_disk = size(folder.path());
            assert!(on_disk <= 5_000, "{name}: {on_disk}");
            let said = keeping.cutoff_note().unwrap_or_default();
            assert_eq!(said.contains("nothing is kept: the commands of this session"), name != "a", "{said}");
        }
        let text = |name: &str| Spool::read(&folder.path().join(name), 8_000).unwrap().into_string();
        assert!(text("a").ends_with("line 1999\n"), "the first has its tail");
        assert!(text("b").contains("from here on nothing is kept: the commands of this session"), "{}", text("b"));
        // Another process goes on with the session, and counts what is there.
        let again = Spools::new(limits, Arc::new(Filling::default()));
        let mut keeping = again.open(&folder.path().join("d")).unwrap();
        keeping.write(b"more\n").unwrap();
        assert!(size(folder.path()) <= 5_000 && keeping.cutoff_note().is_some());
    }

    #[test]
    fn near_the_floor_of_the_disk_output_is_no_longer_kept_and_that_is_said() {
        let limits = SpoolLimits { command: 30_000, session: 100_000, min_free: 1_000 };
        let (spools, disk, folder) = spools(limits, 1_000);
        let mut keeping = spools.open(&folder.path().join("a")).unwrap();
        keeping.write(b"before\n").unwrap();
        disk.0.store(999, Ordering::Relaxed);
        keeping.write(b"meanwhile\n").unwrap();
        disk.0.store(9_999, Ordering::Relaxed);
        keeping.write(b"after\n").unwrap();
        let text = Spool::read(&folder.path().join("a"), 8_000).unwrap().into_string();
        let expected =
            "before\n\n[from here on nothing is kept: the disk has 999 bytes left, and 1000 are to stay free]\n";
        assert_eq!(text, expected);
    }
}
