//! Writes a session as Markdown to a file, for `/share`.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use client::session_markdown;
use store::StoreError;

use crate::session_context::SessionContext;

/// How many events are read at a time.
const PAGE_EVENTS: usize = 512;

/// Why a session is not written to a file.
#[derive(Debug, thiserror::Error)]
pub(super) enum ShareError {
    #[error("/share: name the file to write")]
    Unnamed,
    #[error("/share: cannot write {}: {source}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Writes the session as Markdown to a new file; returns a message for the user.
pub(super) fn write_markdown(context: &SessionContext, file: &str) -> Result<String, ShareError> {
    if file.is_empty() {
        return Err(ShareError::Unnamed);
    }
    let path = context.facts.cwd.join(Path::new(file));
    let markdown = render_markdown(context)?;
    let unwritable = |source| ShareError::Unwritable { path: path.clone(), source };
    let mut output = OpenOptions::new().write(true).create_new(true).open(&path).map_err(unwritable)?;
    output.write_all(markdown.as_bytes()).map_err(unwritable)?;
    Ok(format!("wrote the session to {}", path.display()))
}

fn render_markdown(context: &SessionContext) -> Result<String, StoreError> {
    let (reader, mut log) = (context.log.reader()?, Vec::new());
    loop {
        let seq = log.last().map_or(0, |envelope: &protocol::Envelope| envelope.seq);
        let page = reader.events_after(seq, PAGE_EVENTS)?;
        if page.is_empty() {
            return Ok(session_markdown(&log));
        }
        log.extend(page);
    }
}
