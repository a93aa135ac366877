//! A file that records that programs ran, and under which guardian.
//!
//! The guardian writes it before the first program starts, and again when the last one is gone: a program may have
//! changed it meanwhile, and none can after that.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::mark::GuardianId;
use crate::machine;

/// The variable with the path of a guardian's record.
pub(super) const RECORD_VARIABLE: &str = "BOSUN_RECORD";

/// The path of a guardian's record.
#[derive(Debug)]
pub(super) struct GuardianRecord(PathBuf);

#[derive(Debug, Serialize, Deserialize)]
struct RecordText {
    boot: String,
    guardian: String,
}

impl GuardianRecord {
    /// The record of this guardian, if it was given one.
    #[expect(clippy::disallowed_methods, reason = "not a setting: the owner passes the path of the record")]
    pub(super) fn of_this_process() -> Option<GuardianRecord> {
        std::env::var_os(RECORD_VARIABLE).map(|path: OsString| GuardianRecord(path.into()))
    }

    /// Records that programs of this guardian run or ran.
    pub(super) fn write(&self) -> io::Result<()> {
        let text = RecordText { boot: machine::boot_id()?, guardian: GuardianId::of_this_process().to_string() };
        fs::write(&self.0, serde_json::to_vec(&text)?)
    }
}

/// The content of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordContent {
    /// No program ran.
    Nothing,
    /// Programs of this guardian ran since the machine started.
    Guardian(GuardianId),
    /// Programs ran, and none of them can still run, or they are unknown.
    PastPrograms,
}

/// Reads a record.
pub(super) fn read_record(path: &Path) -> io::Result<RecordContent> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(RecordContent::Nothing),
        Err(error) => return Err(error),
    };
    let Ok(text) = serde_json::from_slice::<RecordText>(&bytes) else { return Ok(RecordContent::PastPrograms) };
    let same_boot = text.boot == machine::boot_id()?;
    Ok(text.guardian.parse().ok().filter(|_| same_boot).map_or(RecordContent::PastPrograms, RecordContent::Guardian))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_names_its_guardian_until_the_machine_restarts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("programs");
        assert_eq!(read_record(&path).unwrap(), RecordContent::Nothing);
        GuardianRecord(path.clone()).write().unwrap();
        assert_eq!(read_record(&path).unwrap(), RecordContent::Guardian(GuardianId::of_this_process()));
        for text in ["", "nonsense", r#"{"boot":"another","guardian":"1.2"}"#] {
            fs::write(&path, text).unwrap();
            assert_eq!(read_record(&path).unwrap(), RecordContent::PastPrograms, "{text}");
        }
    }
}
