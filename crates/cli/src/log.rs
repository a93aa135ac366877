//! The log: `logs/bosun.log` in Bosun's home, made when there is something to say, begun anew past a size.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use host::Home;
use tracing::Level;
use tracing_subscriber::fmt::MakeWriter;

use crate::failure::Failure;

/// A log larger than this is set aside as `bosun.log.1` when a process begins to write.
const ROTATE: u64 = 4 << 20;

/// Sends what is logged to the file.
pub(crate) fn start(home: &Home, level: Option<&str>) -> Result<(), Failure> {
    let level = match level {
        None => Level::WARN,
        Some(level) => level.parse().map_err(|_unknown| {
            Failure::usage(format!("`{level}` is not how much goes to the log"))
                .hint("set BOSUN_LOG to error, warn, info, debug or trace, or leave it unset")
        })?,
    };
    let file = LogFile { path: home.logs_dir().join("bosun.log"), open: Mutex::new(None) };
    let log = tracing_subscriber::fmt().with_max_level(level).with_ansi(false).with_writer(file).finish();
    // Tests that run several commands in one process set it once.
    let _again = tracing::subscriber::set_global_default(log);
    Ok(())
}

struct LogFile {
    path: PathBuf,
    open: Mutex<Option<File>>,
}

impl LogFile {
    fn open(&self) -> io::Result<File> {
        if fs::metadata(&self.path).is_ok_and(|file| file.len() > ROTATE) {
            fs::rename(&self.path, self.path.with_extension("log.1"))?;
        }
        OpenOptions::new().append(true).create(true).open(&self.path)
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self)
    }
}

/// One line on its way to the file. A log that cannot be written is no reason to stop working.
struct Line<'a>(&'a LogFile);

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.is_none() {
            *open = self.0.open().ok();
        }
        match open.as_mut() {
            Some(file) => file.write(bytes),
            None => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
