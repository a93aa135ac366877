//! An adapter whose peak memory is recorded.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The field of `/proc/PID/status` with the peak memory.
const PEAK: &str = "VmHWM:";

/// A wrapper that becomes the adapter, while a shell next to it records the adapter's memory.
pub(super) struct AdapterProgram {
    program: PathBuf,
    notes: PathBuf,
}

impl AdapterProgram {
    /// Wraps `adapter`.
    pub(super) fn wrap(adapter: &Path, folder: &Path) -> Result<AdapterProgram> {
        let (program, notes) = (folder.join("adapter"), folder.join("adapter-memory"));
        // The process keeps its id when it becomes the adapter; the recording shell ends with it.
        let script = format!(
            "#!/bin/sh\n(while grep {PEAK} /proc/$$/status > '{0}.new' 2>/dev/null; do mv '{0}.new' '{0}'; sleep 0.01; done) &\nexec '{1}' \"$@\"\n",
            notes.display(),
            adapter.display()
        );
        fs::write(&program, script).with_context(|| format!("cannot write {}", program.display()))?;
        fs::set_permissions(&program, Permissions::from_mode(0o755)).context("cannot make it a program")?;
        fs::write(&notes, format!("{PEAK} 0 kB")).context("cannot write notes")?;
        Ok(AdapterProgram { program, notes })
    }

    /// The program for the SDK to start.
    pub(super) fn path(&self) -> &Path {
        &self.program
    }

    /// The adapter's peak memory, as far as recorded.
    pub(super) fn peak_kib(&self) -> Result<u64> {
        let noted = fs::read_to_string(&self.notes).context("the adapter's memory was not recorded")?;
        let number = noted.trim_start_matches(PEAK).trim().trim_end_matches(" kB");
        number.parse().with_context(|| format!("not an amount of memory: {noted}"))
    }
}
