//! One transcript file: entries are only appended, each once.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::event_part::EventPart;

/// Maximum bytes of a line whose id is read.
const MAX_LINE_BYTES: u64 = 64 * 1024 * 1024;

/// A transcript file.
#[derive(Debug)]
pub(super) struct ClaudeTranscriptFile {
    file: File,
    /// The event and part of the last entry that Bosun wrote to it.
    last: Option<EventPart>,
}

impl ClaudeTranscriptFile {
    /// Opens or creates a file. Removes an incomplete line left by a killed adapter.
    pub(super) fn open(path: &Path, session: Uuid) -> io::Result<ClaudeTranscriptFile> {
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
        let (last, complete_len) = scan(&file, session)?;
        if file.seek(SeekFrom::End(0))? > complete_len {
            file.set_len(complete_len)?;
        }
        Ok(ClaudeTranscriptFile { file, last })
    }

    /// Appends an entry, unless it is there already. Returns whether it did.
    pub(super) fn append(&mut self, part: EventPart, line: &Value) -> io::Result<bool> {
        if self.last >= Some(part) {
            return Ok(false);
        }
        let mut text = line.to_string();
        text.push('\n');
        self.file.write_all(text.as_bytes())?;
        self.last = Some(part);
        Ok(true)
    }
}

#[derive(Deserialize)]
struct EntryUuid {
    uuid: Option<Uuid>,
}

/// Finds the last entry that Bosun wrote, and the end of the last complete line. Lines of other programs are ignored.
fn scan(file: &File, session: Uuid) -> io::Result<(Option<EventPart>, u64)> {
    let mut reader = BufReader::new(file);
    let (mut last, mut complete_len) = (None, 0);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? as u64;
        if line.last() != Some(&b'\n') && read < MAX_LINE_BYTES {
            return Ok((last, complete_len));
        }
        complete_len += read;
        let uuid = serde_json::from_slice::<EntryUuid>(&line).ok().and_then(|entry| entry.uuid);
        last = last.max(uuid.and_then(|uuid| EventPart::from_uuid(session, uuid)));
    }
}

/// Writes a small metadata file, unless it exists. Returns whether it did.
pub(super) fn write_once(path: &Path, text: &str) -> io::Result<bool> {
    if path.exists() {
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let temporary = path.with_extension("tmp");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(text.as_bytes())?;
    fs::rename(temporary, path)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::claude::frames::frame_id;

    const SESSION: Uuid = Uuid::from_u128(0x0198_1234_5678_7abc_8def_0123_4567_89ab);

    fn add(transcript: &mut ClaudeTranscriptFile, seq: u64, part: u16) {
        transcript.append(EventPart { seq, part }, &json!({ "uuid": frame_id(SESSION, seq, part) })).unwrap();
    }

    #[test]
    fn reopening_a_truncated_file_continues_without_duplicates() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b.jsonl");
        let mut transcript = ClaudeTranscriptFile::open(&path, SESSION).unwrap();
        add(&mut transcript, 1, 0);
        add(&mut transcript, 3, 0);
        add(&mut transcript, 3, 1);
        let entries = fs::read_to_string(&path).unwrap();
        let complete = format!("{entries}{{\"type\":\"custom-title\"}}\nnonsense\n");
        fs::write(&path, format!("{complete}{{\"uuid\":\"01981")).unwrap();
        let mut transcript = ClaudeTranscriptFile::open(&path, SESSION).unwrap();
        add(&mut transcript, 1, 0);
        add(&mut transcript, 3, 1);
        assert_eq!(fs::read_to_string(&path).unwrap(), complete);
        add(&mut transcript, 4, 0);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 6);
    }
}
