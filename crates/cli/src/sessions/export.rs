//! Exports a session's whole log.

use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use host::Home;
use protocol::{Envelope, SessionId};
use store::{SalvagedLog, SessionReader, StoreError};

use crate::args::ExportFormat;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::{print, share};

/// The number of events read per page.
const EVENTS_PER_PAGE: usize = 512;

pub(super) fn export(
    home: &Home,
    id: SessionId,
    format: ExportFormat,
    output: Option<&Path>,
) -> Result<CommandExit, CliError> {
    let (text, damage) = share::render_session(home, id, format)?;
    match output {
        None => print::output(text.trim_end()),
        Some(path) => fs::write(path, text)
            .map_err(|error| CliError::failed(format!("cannot write {}: {error}", path.display())))?,
    }
    match damage {
        None => Ok(CommandExit::Success),
        Some(damage) => Err(damage),
    }
}

/// Reads all readable events, and an error that describes the rest.
pub(crate) fn read_log(home: &Home, id: SessionId) -> Result<(Vec<Envelope>, Option<CliError>), CliError> {
    // Read this before the log: a log written meanwhile has more events by then, never fewer.
    let committed = store::last_committed(home, id).unwrap_or(0);
    match read_whole(home, id) {
        Ok(log) => {
            let last = log.last().map_or(0, |envelope| envelope.seq);
            let lost = committed.checked_sub(last).filter(|lost| *lost > 0);
            let message = lost.map(|lost| {
                format!(
                    "{} is truncated: the last {lost} events are missing; {last} of the {committed} committed \
                     events can be read",
                    home.session_db(id).display()
                )
            });
            let hint = format!("bosun sessions repair {id} accepts the shorter log");
            Ok((log, message.map(|message| CliError::failed(message).with_hint(hint))))
        }
        Err(StoreError::Corrupt { path, detail }) => {
            let SalvagedLog { events, missing } = store::salvage(home, id)?;
            if events.is_empty() {
                return Err(StoreError::Corrupt { path, detail }.into());
            }
            let missing = if missing.is_empty() {
                "no events are missing".to_owned()
            } else {
                format!("missing events: {}", format_ranges(&missing))
            };
            let message =
                format!("{} is damaged: {detail}; {} events can be read; {missing}", path.display(), events.len());
            Ok((events, Some(CliError::failed(message))))
        }
        Err(error) => Err(error.into()),
    }
}

fn read_whole(home: &Home, id: SessionId) -> Result<Vec<Envelope>, StoreError> {
    let reader = SessionReader::open(home, id)?;
    let mut log: Vec<Envelope> = Vec::new();
    loop {
        let page = reader.events_after(log.last().map_or(0, |envelope| envelope.seq), EVENTS_PER_PAGE)?;
        if page.is_empty() {
            return Ok(log);
        }
        log.extend(page);
    }
}

fn format_ranges(ranges: &[RangeInclusive<u64>]) -> String {
    let range = |range: &RangeInclusive<u64>| match (range.start(), range.end()) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first} to {last}"),
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(", ")
}
