//! A session's whole log, to read or to process.

use std::fs;
use std::path::Path;

use host::Home;
use protocol::{Envelope, SessionId};
use store::Reader;

use crate::args::ExportFormat;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{print, share};

/// How many events are read at a time.
const PAGE: usize = 512;

pub(super) fn export(home: &Home, id: SessionId, format: ExportFormat, output: Option<&Path>) -> Result<Exit, Failure> {
    let (text, damage) = share::page(home, id, format)?;
    match output {
        None => print::answer(text.trim_end()),
        Some(path) => fs::write(path, text)
            .map_err(|error| Failure::failed(format!("cannot write {}: {error}", path.display())))?,
    }
    match damage {
        None => Ok(Exit::Success),
        Some(damage) => Err(damage),
    }
}

/// Everything that can be read, and what stopped it.
pub(crate) fn read_log(home: &Home, id: SessionId) -> Result<(Vec<Envelope>, Option<Failure>), Failure> {
    let reader = Reader::open(home, id)?;
    let mut log: Vec<Envelope> = Vec::new();
    loop {
        let seq = log.last().map_or(0, |envelope| envelope.seq);
        match reader.events_after(seq, PAGE) {
            Ok(page) if page.is_empty() => return Ok((log, None)),
            Ok(page) => log.extend(page),
            Err(error) if log.is_empty() => return Err(error.into()),
            Err(error) => return Ok((log, Some(error.into()))),
        }
    }
}
