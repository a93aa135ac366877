//! What owner and guardian say to each other: JSON, one object a packet.
//!
//! Names and arguments may be any bytes but 0, while JSON knows text only. They travel as Latin-1: every byte
//! is the character of that number.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::program::{Exit, Kill, Leftovers, Parting};

/// The owner's number for a job; never used twice for one guardian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct JobId(pub(super) u64);

/// What the owner asks for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(super) enum Order {
    /// Start a program on the three descriptors that come with the packet.
    Spawn(Spawn),
    /// End a job and all that belongs to it.
    Kill { job: JobId, how: Kill },
}

/// A program to start.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Spawn {
    pub(super) job: JobId,
    pub(super) program: Word,
    pub(super) args: Vec<Word>,
    pub(super) cwd: Word,
    pub(super) env: Vec<(Word, Word)>,
    pub(super) leftovers: Leftovers,
    pub(super) parting: Parting,
    pub(super) memory: Option<u64>,
}

/// What the guardian tells.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(super) enum Report {
    /// The job runs.
    Started { job: JobId, pid: i32 },
    /// The job did not start.
    Failed { job: JobId, fault: Fault, text: String },
    /// The job's first process ended, and what it left behind is gone or kept.
    Exited { job: JobId, exit: Exit },
}

/// In which way a program did not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Fault {
    ProgramMissing,
    ProgramForbidden,
    DirectoryMissing,
    DirectoryForbidden,
    TooLarge,
    Other,
}

/// Bytes that the operating system takes for a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word(pub(super) OsString);

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0.as_bytes().iter().copied().map(char::from).collect::<String>())
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Word, D::Error> {
        let text = String::deserialize(from)?;
        let bytes: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
        bytes.map(|bytes| Word(OsString::from_vec(bytes))).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_survive_the_journey() {
        let sent = Word(OsString::from_vec((1..=255).collect()));
        let json = serde_json::to_vec(&sent).unwrap();
        assert_eq!(serde_json::from_slice::<Word>(&json).unwrap(), sent);
    }

    #[test]
    fn characters_that_are_no_bytes_are_refused() {
        assert!(serde_json::from_str::<Word>("\"漢\"").is_err());
    }
}
