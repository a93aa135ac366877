//! Hooks that are shell commands: JSON in, JSON out, and an exit code.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use host::{ExitStatus, Guardian, Process, ProcessInput, ProcessOutput, Program, Stderr, Stdin};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::failure::HookRunError;
use super::runner::HookOutput;

/// Maximum output of a hook, in bytes; one that writes more fails, since its answer may be cut off.
const MAX_OUTPUT_BYTES: usize = 1024 * 1024;

/// Maximum length of a failing hook's error output in messages, in bytes.
const MAX_STDERR_BYTES: usize = 500;

/// The exit code that denies.
const DENY_EXIT_CODE: i32 = 2;

/// A command and where it runs.
pub(super) struct HookCommand<'a> {
    pub(super) command: &'a str,
    pub(super) folder: PathBuf,
    pub(super) env: Vec<(OsString, OsString)>,
}

/// The output of a command so far, which stays available after a timeout.
#[derive(Debug, Default)]
pub(super) struct CapturedOutput(Mutex<Vec<u8>>);

impl CapturedOutput {
    pub(super) fn text(&self) -> String {
        text(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds bytes; returns the total length.
    fn append(&self, bytes: &[u8]) -> usize {
        let mut captured = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        captured.extend_from_slice(bytes);
        captured.len()
    }
}

/// Runs a command to its end. Dropping this future, as a timeout does, kills it with everything it started.
pub(super) async fn run(
    guardian: &Guardian,
    command: HookCommand<'_>,
    payload: &Value,
    captured: &CapturedOutput,
) -> Result<HookOutput, HookRunError> {
    let mut program = Program::new(shell(), command.folder).args(["-c", command.command]);
    program.env = command.env;
    (program.stdin, program.stderr) = (Stdin::Pipe, Stderr::Pipe);
    let process = guardian.spawn(program).await.map_err(|error| HookRunError::Start(error.to_string()))?;
    let Process { stdin, output, stderr, mut job } = process;
    let captured_stderr = CapturedOutput::default();
    let reading = async { tokio::try_join!(read(Some(output), captured), read(stderr, &captured_stderr)) };
    tokio::select! {
        read = reading => read.map(|((), ())| ())?,
        never = write(stdin, payload) => match never {},
    };
    let (output, stderr_text) = (captured.text(), captured_stderr.text());
    let exit = job.wait().await.map_err(|error| HookRunError::Start(error.to_string()))?;
    match exit.status {
        ExitStatus::Code(0) => Ok(HookOutput::Answer(output)),
        ExitStatus::Code(DENY_EXIT_CODE) if stderr_text.trim().is_empty() => {
            Ok(HookOutput::Denial(output.trim().to_owned()))
        }
        ExitStatus::Code(DENY_EXIT_CODE) => Ok(HookOutput::Denial(stderr_text.trim().to_owned())),
        status @ (ExitStatus::Code(_) | ExitStatus::Signal(_)) => {
            let said = protocol::clip_middle(stderr_text.trim(), MAX_STDERR_BYTES);
            Err(HookRunError::Status { status: status.to_string(), said })
        }
    }
}

/// Writes a hook's input, and never returns: the readers wait for the hook's end.
async fn write(stdin: Option<ProcessInput>, payload: &Value) -> std::convert::Infallible {
    if let Some(mut stdin) = stdin {
        // A hook may end without having read anything.
        let _unread = stdin.write_all(payload.to_string().as_bytes()).await;
    }
    std::future::pending().await
}

/// Reads a hook's output to its end.
async fn read(stream: Option<ProcessOutput>, captured: &CapturedOutput) -> Result<(), HookRunError> {
    let Some(mut stream) = stream else { return Ok(()) };
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let count = stream.read(&mut buffer).await.unwrap_or_default();
        if count == 0 {
            return Ok(());
        }
        if captured.append(&buffer[..count]) > MAX_OUTPUT_BYTES {
            return Err(HookRunError::TooMuchOutput(MAX_OUTPUT_BYTES));
        }
    }
}

/// Decodes output as UTF-8, or as UTF-16 if it has a byte order mark.
fn text(bytes: &[u8]) -> String {
    let decode_utf16 = |order: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| order([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, ..] => decode_utf16(u16::from_le_bytes),
        [0xfe, 0xff, ..] => decode_utf16(u16::from_be_bytes),
        _utf8 => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// The shell that Copilot's and Claude's files expect: most of their commands are bash, and all of them run in it.
fn shell() -> &'static Path {
    let bash = Path::new("/bin/bash");
    if bash.exists() { bash } else { Path::new("/bin/sh") }
}
