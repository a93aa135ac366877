//! Writes a session's transcript to a file.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use store::StoreError;

use crate::agent::SessionContext;
use crate::transcript;

/// How many events are read at a time.
const PAGE: usize = 512;

/// Writes the session as Markdown to a new file; returns a message for the user.
pub(super) fn write_transcript(context: &SessionContext, file: &str) -> Result<String, String> {
    if file.is_empty() {
        return Err("/share: name the file to write".into());
    }
    let path = context.settings.cwd.join(Path::new(file));
    let page = render_transcript(context).map_err(|error| error.to_string())?;
    let unwritable = |error: std::io::Error| format!("/share: cannot write {}: {error}", path.display());
    let mut out = OpenOptions::new().write(true).create_new(true).open(&path).map_err(unwritable)?;
    out.write_all(page.as_bytes()).map_err(unwritable)?;
    Ok(format!("the session is in {}", path.display()))
}

fn render_transcript(context: &SessionContext) -> Result<String, StoreError> {
    let (reader, mut log) = (context.reader()?, Vec::new());
    loop {
        let seq = log.last().map_or(0, |envelope: &protocol::Envelope| envelope.seq);
        let page = reader.events_after(seq, PAGE)?;
        if page.is_empty() {
            return Ok(transcript(&log));
        }
        log.extend(page);
    }
}
