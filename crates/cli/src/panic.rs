//! Handles panics: writes a report to Bosun's home, restores the terminal, and keeps the session resumable.
//!
//! Every panic writes a report. A run that panics ends only its own task; only an uncontained panic ends the process
//! and is shown to the user.

use std::backtrace::Backtrace;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use host::{Clock, SystemClock};
use tui::print;

use crate::error::CliError;
use crate::exit::CommandExit;
use crate::{args, current_session, log};

/// The maximum number of reports per process: a task that panics on every attempt must not fill the disk.
const MAX_REPORTS: u32 = 3;

/// The number of log lines in a report.
const REPORT_LOG_LINES: usize = 20;

/// Resets the terminal: bracketed paste off, cursor on, plain text.
const TERMINAL_RESET: &[u8] = b"\x1b[?2004l\x1b[?25h\x1b[0m";

/// The path of the last report, or why it could not be written.
static LAST_REPORT: Mutex<Option<Result<PathBuf, String>>> = Mutex::new(None);

/// Installs the hook that writes a report for every panic.
pub(crate) fn install() {
    std::panic::set_hook(Box::new(|panic| {
        // A panic in here would abort the process.
        let report = catch_unwind(AssertUnwindSafe(|| write_report(panic)));
        let report = report.unwrap_or_else(|_again| Err("writing it failed".into()));
        let report = report.map_err(|reason| format!("{reason}; it was: {}", describe_panic(panic)));
        *LAST_REPORT.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
    }));
}

/// Runs a closure; a panic in it becomes an error that names the report.
pub(crate) fn catch_panics<T>(command: impl FnOnce() -> Result<T, CliError>) -> Result<T, CliError> {
    catch_unwind(AssertUnwindSafe(command)).unwrap_or_else(|_panic| {
        reset_terminal();
        Err(panic_failure())
    })
}

/// Prints the path of the report of a contained panic when the run failed.
pub(crate) fn print_contained_report(exit: CommandExit) {
    let report = LAST_REPORT.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let (Some(Ok(path)), true) = (report, exit != CommandExit::Success) {
        print::note(format_args!("hint: this is a bug in Bosun; the report is in {}", path.display()));
    }
}

fn panic_failure() -> CliError {
    let report = LAST_REPORT.lock().unwrap_or_else(PoisonError::into_inner).take();
    let message = match report {
        Some(Ok(path)) => format!("Bosun stopped because of a bug; the report is in {}", path.display()),
        Some(Err(reason)) => format!("Bosun stopped because of a bug; no report could be written: {reason}"),
        None => "Bosun stopped because of a bug".to_owned(),
    };
    let failure = CliError::failed(message);
    match current_session::resume_command() {
        Some(command) => failure.with_hint(format!("no work is lost; resume with: {command}")),
        None => failure.with_hint("no session was open; try again, and report the bug if it happens again"),
    }
}

fn reset_terminal() {
    let mut err = io::stderr();
    if err.is_terminal() {
        let _gone = err.write_all(TERMINAL_RESET);
    }
}

/// Writes the report and returns its path.
fn write_report(panic: &PanicHookInfo<'_>) -> Result<PathBuf, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    if count >= MAX_REPORTS {
        return Err(format!("this process already wrote {MAX_REPORTS} reports"));
    }
    let folder = log::folder().ok_or("Bosun's home is not known yet")?;
    let report = log::redact(build_report(panic));
    let time = SystemClock.now().to_string().replace([':', '.'], "-");
    let name = format!("panic-{time}-{}.{count}.txt", std::process::id());
    let path = folder.join(name);
    write_new(&path, &report).map_err(|error| format!("{}: {error}", path.display()))?;
    tracing::error!(report = %path.display(), "panicked");
    Ok(path)
}

fn write_new(path: &Path, report: &str) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(report.as_bytes())
}

/// The message and location of a panic, in one line and without secrets.
fn describe_panic(panic: &PanicHookInfo<'_>) -> String {
    // Redact before cutting, so that no part of a secret is left.
    let text = log::redact(format!("{} at {}", message(panic), panic_location(panic)));
    print::one_line(&print::sanitize(&text), 200)
}

fn message<'a>(panic: &'a PanicHookInfo<'_>) -> &'a str {
    panic.payload_as_str().unwrap_or("a payload that is not text")
}

fn panic_location(panic: &PanicHookInfo<'_>) -> String {
    panic.location().map_or_else(|| "an unknown location".to_owned(), ToString::to_string)
}

fn build_report(panic: &PanicHookInfo<'_>) -> String {
    let session = current_session::get().map_or_else(|| "none".to_owned(), |session| session.to_string());
    let thread = std::thread::current();
    let rows = [
        ("version", concat!("bosun ", env!("CARGO_PKG_VERSION")).to_owned()),
        ("time", SystemClock.now().to_string()),
        ("session", session),
        ("thread", thread.name().unwrap_or("unnamed").to_owned()),
        ("command", command_line(std::env::args_os().skip(1))),
        ("location", panic_location(panic)),
        ("message", message(panic).to_owned()),
    ];
    let mut text = String::new();
    for (name, value) in rows {
        let _infallible = writeln!(text, "{name:<9} {value}");
    }
    let _infallible = write!(text, "\nbacktrace\n{}\n\nlast lines of the log\n", Backtrace::force_capture());
    for line in log::last_lines(REPORT_LOG_LINES) {
        text += &line;
        text.push('\n');
    }
    text
}

/// The command line with its flags and commands, but without the user's own text.
fn command_line(arguments: impl Iterator<Item = OsString>) -> String {
    let known = args::flag_and_command_names();
    let word = |word: OsString| {
        let text = word.to_string_lossy().into_owned();
        match text.strip_prefix("--") {
            Some(flag) => flag.split_once('=').map_or_else(
                || known_or_ellipsis(&text, &known),
                |(name, _)| format!("{}=…", known_or_ellipsis(&format!("--{name}"), &known)),
            ),
            None if text.starts_with('-') => text.chars().take(2).collect(),
            None => known_or_ellipsis(&text, &known),
        }
    };
    let words: Vec<String> = arguments.map(word).collect();
    format!("bosun {}", words.join(" "))
}

fn known_or_ellipsis(word: &str, known: &[String]) -> String {
    if known.iter().any(|known| known == word) { word.to_owned() } else { "…".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_reported_without_user_text() {
        let shown = |line: &str| command_line(line.split(' ').map(OsString::from));
        assert_eq!(shown("-p secret --model=anthropic/x --quiet"), "bosun -p … --model=… --quiet");
        assert_eq!(shown("-psecret --prompt=secret --secret"), "bosun -p --prompt=… …");
        assert_eq!(shown("sessions send 0198 secret --when steer"), "bosun sessions send … … --when …");
    }
}
