//! The messages between owner and guardian: JSON, one object per packet.
//!
//! Names and arguments may be any bytes but 0, while JSON only has text. They are sent as Latin-1: every byte is the
//! character of that number.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::program::{ExitGrace, KillMode, Leftovers, ProgramExit};

/// The owner's number for a job; never used twice for one guardian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct JobId(pub(super) u64);

/// A request of the owner.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(super) enum GuardianRequest {
    /// Start a program on the three descriptors that come with the packet.
    Spawn(SpawnRequest),
    /// End a job and all its processes.
    Kill { job: JobId, how: KillMode },
}

/// A program to start.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SpawnRequest {
    pub(super) job: JobId,
    pub(super) program: OsBytes,
    pub(super) args: Vec<OsBytes>,
    pub(super) cwd: OsBytes,
    pub(super) env: Vec<(OsBytes, OsBytes)>,
    pub(super) leftovers: Leftovers,
    pub(super) parting: ExitGrace,
    pub(super) memory: Option<u64>,
}

/// A report of the guardian.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(super) enum GuardianReport {
    /// The job runs.
    Started { job: JobId, pid: i32 },
    /// The job did not start.
    Failed { job: JobId, fault: SpawnFault, text: String },
    /// The job's first process ended, and its leftovers are gone or kept.
    Exited { job: JobId, exit: ProgramExit },
}

/// Why a program did not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum SpawnFault {
    ProgramMissing,
    ProgramForbidden,
    DirectoryMissing,
    DirectoryForbidden,
    TooLarge,
    Other,
}

/// Bytes of a name or argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OsBytes(pub(super) OsString);

impl Serialize for OsBytes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0.as_bytes().iter().copied().map(char::from).collect::<String>())
    }
}

impl<'de> Deserialize<'de> for OsBytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<OsBytes, D::Error> {
        let text = String::deserialize(from)?;
        let bytes: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
        bytes.map(|bytes| OsBytes(OsString::from_vec(bytes))).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_round_trip() {
        let sent = OsBytes(OsString::from_vec((1..=255).collect()));
        let json = serde_json::to_vec(&sent).unwrap();
        assert_eq!(serde_json::from_slice::<OsBytes>(&json).unwrap(), sent);
    }

    #[test]
    fn characters_above_255_are_refused() {
        assert!(serde_json::from_str::<OsBytes>("\"漢\"").is_err());
    }
}
