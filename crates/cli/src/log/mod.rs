//! The log: `logs/bosun.log` in Bosun's home, made when there is something to say. One record is one line, without
//! secrets; past a size the file is set aside, whoever else is writing to it.

mod file;
mod line_format;
mod redaction;

use std::path::PathBuf;
use std::sync::OnceLock;

use host::Home;
use tracing::Level;

pub(crate) use redaction::{redact, redact_secrets};

use crate::error::CliError;
use file::LogFile;
use line_format::OneLineFormat;

/// Where this process logs to.
static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Sends what is logged to the file.
pub(crate) fn start(home: &Home, level: Option<&str>) -> Result<(), CliError> {
    let level = match level {
        None => Level::WARN,
        Some(level) => level.parse().map_err(|_unknown| {
            CliError::usage(format!("`{level}` is not how much goes to the log"))
                .with_hint("set BOSUN_LOG to error, warn, info, debug or trace, or leave it unset")
        })?,
    };
    let folder = FOLDER.get_or_init(|| home.logs_dir());
    let file = LogFile::new(folder.join("bosun.log"));
    let log = tracing_subscriber::fmt().with_max_level(level).event_format(OneLineFormat).with_writer(file).finish();
    // Tests that run several commands in one process set it once.
    let _again = tracing::subscriber::set_global_default(log);
    Ok(())
}

/// The folder that holds the log and reports of panics, once it is known.
pub(crate) fn folder() -> Option<&'static PathBuf> {
    FOLDER.get()
}

/// The end of the log, at most this many lines of it.
pub(crate) fn last_lines(most: usize) -> Vec<String> {
    folder().map(|folder| file::tail(&folder.join("bosun.log"), most)).unwrap_or_default()
}
