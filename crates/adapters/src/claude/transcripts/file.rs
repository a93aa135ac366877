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
const LINE: u64 = 64 * 1024 * 1024;

/// A transcript file.
#[derive(Debug)]
pub(super) struct ClaudeTranscriptFile {
    file: File,
    /// The last entry that Bosun wrote to it.
    last: Option<EventPart>,
}

impl ClaudeTranscriptFile {
    /// Opens or creates a file. Removes an incomplete line left by a killed adapter.
    pub(super) fn open(path: &Path, session: Uuid) -> io::Result<ClaudeTranscriptFile> {
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
        let (last, complete) = scan(&file, session)?;
        if file.seek(SeekFrom::End(0))? > complete {
            file.set_len(complete)?;
        }
        Ok(ClaudeTranscriptFile { file, last })
    }

    /// Appends an entry, unless it is there already.
    pub(super) fn add(&mut self, part: EventPart, line: &Value) -> io::Result<()> {
        if self.last >= Some(part) {
            return Ok(());
        }
        let mut text = line.to_string();
        text.push('\n');
        self.file.write_all(text.as_bytes())?;
        self.last = Some(part);
        Ok(())
    }
}

#[derive(Deserialize)]
struct EntryUuid {
    uuid: Option<Uuid>,
}

/// Finds the last entry that Bosun wrote, and the end of the last complete line. Lines of other programs are ignored.
fn scan(file: &File, session: Uuid) -> io::Result<(Option<EventPart>, u64)> {
    let mut reader = BufReader::new(file);
    let (mut last, mut complete) = (None, 0);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.by_ref().take(LINE).read_until(b'\n', &mut line)? as u64;
        if line.last() != Some(&b'\n') && read < LINE {
            return Ok((last, complete));
        }
        complete += read;
        let uuid = serde_json::from_slice::<EntryUuid>(&line).ok().and_then(|entry| entry.uuid);
        last = last.max(uuid.and_then(|uuid| EventPart::from_uuid(session, uuid)));
    }
}

/// Writes a small metadata file, unless it exists.
pub(super) fn write_once(path: &Path, text: &str) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let temporary = path.with_extension("tmp");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(text.as_bytes())?;
    fs::rename(temporary, path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::claude::frames::frame_id;

    const SESSION: Uuid = Uuid::from_u128(0x0198_1234_5678_7abc_8def_0123_4567_89ab);

    fn add(page: &mut ClaudeTranscriptFile, seq: u64, part: u16) {
        page.add(EventPart { seq, part }, &json!({ "uuid": frame_id(SESSION, seq, part) })).unwrap();
    }

    #[test]
    fn a_file_that_was_cut_off_is_gone_on_with_and_has_nothing_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b.jsonl");
        let mut page = ClaudeTranscriptFile::open(&path, SESSION).unwrap();
        add(&mut page, 1, 0);
        add(&mut page, 3, 0);
        add(&mut page, 3, 1);
        let whole = fs::read_to_string(&path).unwrap();
        let others = format!("{whole}{{\"type\":\"custom-title\"}}\nnonsense\n");
        fs::write(&path, format!("{others}{{\"uuid\":\"01981")).unwrap();
        let mut page = ClaudeTranscriptFile::open(&path, SESSION).unwrap();
        add(&mut page, 1, 0);
        add(&mut page, 3, 1);
        assert_eq!(fs::read_to_string(&path).unwrap(), others);
        add(&mut page, 4, 0);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 6);
    }
}
