//! Exports a session's whole log.

use std::fs;
use std::path::Path;

use client::{LogDamage, SessionLog};
use host::Home;
use protocol::{Envelope, SessionId};
use tui::print;

use crate::args::ExportFormat;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::share;

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
    let SessionLog { events, damage } = SessionLog::read(home, id)?;
    let failure = damage.map(|damage| match damage {
        LogDamage::Truncated { .. } => {
            CliError::failed(damage).with_hint(format!("bosun sessions repair {id} accepts the shorter log"))
        }
        LogDamage::Damaged { .. } => CliError::failed(damage),
    });
    Ok((events, failure))
}
