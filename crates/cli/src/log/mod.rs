//! The log: `logs/bosun.log` in Bosun's home, created at the first record. Each record is one line without secrets. A
//! large file is rotated, even while other processes write to it.

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

/// The folder that this process logs to.
static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Starts logging to the file.
pub(crate) fn start(home: &Home, level: Option<&str>) -> Result<(), CliError> {
    let level = match level {
        None => Level::WARN,
        Some(level) => level.parse().map_err(|_unknown| {
            CliError::usage(format!("`{level}` is not a log level"))
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

/// The folder of the log and of panic reports, once it is known.
pub(crate) fn folder() -> Option<&'static PathBuf> {
    FOLDER.get()
}

/// The last lines of the log.
pub(crate) fn last_lines(max_lines: usize) -> Vec<String> {
    folder().map(|folder| file::tail(&folder.join("bosun.log"), max_lines)).unwrap_or_default()
}
