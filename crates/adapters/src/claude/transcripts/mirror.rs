//! Copies of transcript entries for a client that stores them itself.

use std::path::Path;

use serde_json::{Value, json};

/// Maximum bytes of several entries in one frame: a frame that is too large would be clipped.
const MAX_FRAME_BYTES: usize = 500_000;

/// Whether the client receives a copy of each entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::claude) enum TranscriptMirror {
    /// It does not.
    Off,
    /// It does.
    ToClient,
}

/// Entries that were written and that the client has not received.
#[derive(Debug)]
pub(super) struct MirroredEntries {
    mirror: TranscriptMirror,
    frames: Vec<MirrorFrame>,
}

/// Entries of one file, and their bytes.
#[derive(Debug)]
struct MirrorFrame {
    file: String,
    entries: Vec<Value>,
    bytes: usize,
}

impl MirroredEntries {
    pub(super) fn new(mirror: TranscriptMirror) -> MirroredEntries {
        MirroredEntries { mirror, frames: Vec::new() }
    }

    /// Adds an entry of a file.
    pub(super) fn add(&mut self, file: &Path, entry: &Value) {
        if self.mirror == TranscriptMirror::Off {
            return;
        }
        let (file, size) = (file.display().to_string(), entry.to_string().len());
        let has_room = |frame: &&mut MirrorFrame| frame.file == file && frame.bytes + size <= MAX_FRAME_BYTES;
        match self.frames.last_mut().filter(has_room) {
            Some(frame) => {
                frame.entries.push(entry.clone());
                frame.bytes += size;
            }
            None => self.frames.push(MirrorFrame { file, entries: vec![entry.clone()], bytes: size }),
        }
    }

    /// Takes the frames.
    pub(super) fn take(&mut self) -> Vec<Value> {
        let frames = std::mem::take(&mut self.frames).into_iter();
        let frame = |MirrorFrame { file, entries, .. }| json!({ "type": "transcript_mirror", "filePath": file, "entries": entries });
        frames.map(frame).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_one_file_share_a_frame_until_it_is_full() {
        let mut mirrored = MirroredEntries::new(TranscriptMirror::ToClient);
        let long = json!("x".repeat(MAX_FRAME_BYTES / 2));
        for entry in [json!(1), json!(2), long.clone(), long] {
            mirrored.add(Path::new("/a.jsonl"), &entry);
        }
        mirrored.add(Path::new("/b.jsonl"), &json!("b"));
        let frames = mirrored.take();
        let counts: Vec<_> = frames.iter().map(|frame| frame["entries"].as_array().map(Vec::len)).collect();
        assert_eq!(counts, [Some(3), Some(1), Some(1)]);
        assert_eq!((&frames[2]["type"], &frames[2]["filePath"]), (&json!("transcript_mirror"), &json!("/b.jsonl")));
        assert!(mirrored.take().is_empty());
        let mut off = MirroredEntries::new(TranscriptMirror::Off);
        off.add(Path::new("/a.jsonl"), &json!(1));
        assert!(off.take().is_empty());
    }
}
