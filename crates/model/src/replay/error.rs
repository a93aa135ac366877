//! Why a recording cannot be used.

use std::io;

/// Why a recording cannot be used. Each names the file.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be opened, read or written.
    #[error("cannot use the recording {file}: {source}")]
    File {
        /// The file.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// The file has no header.
    #[error("{file} is not a recording; make one with --record FILE, in a new file")]
    NotARecording {
        /// The file.
        file: String,
    },
    /// The file has another version.
    #[error("{file} is a recording of version {version}; this program reads version {known}", known = super::line::VERSION)]
    Version {
        /// The file.
        file: String,
        /// Its version.
        version: u32,
    },
    /// A line is damaged.
    #[error("{file}:{line}: not a recorded answer: {why}; record the session again")]
    Malformed {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
}
