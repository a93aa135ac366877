//! An adapter whose memory is looked at when it ends.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// What the adapter's kernel has counted, in the words of `/proc`.
const PEAK: &str = "VmHWM:";

/// A program in front of an adapter. It becomes the adapter, and a shell beside it notes how much memory the adapter had.
pub(super) struct AdapterProgram {
    program: PathBuf,
    notes: PathBuf,
}

impl AdapterProgram {
    /// Puts a program in front of `adapter`.
    pub(super) fn wrap(adapter: &Path, folder: &Path) -> Result<AdapterProgram> {
        let (program, notes) = (folder.join("adapter"), folder.join("adapter-memory"));
        // The process keeps its number when it becomes the adapter; who looks ends with it.
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

    /// What an SDK starts.
    pub(super) fn path(&self) -> &Path {
        &self.program
    }

    /// Most memory that the adapter had at once, as far as anybody looked.
    pub(super) fn peak_kib(&self) -> Result<u64> {
        let noted = fs::read_to_string(&self.notes).context("nobody noted the adapter's memory")?;
        let number = noted.trim_start_matches(PEAK).trim().trim_end_matches(" kB");
        number.parse().with_context(|| format!("the note says: {noted}"))
    }
}
