//! The running binary, and how it ended.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{PATIENCE, within};

/// Signals for a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessSignal {
    /// Sent by Ctrl-C.
    Interrupt,
    /// Asks it to end.
    Terminate,
    /// Sent when a terminal closes.
    HangUp,
    /// Cannot be caught.
    Kill,
    /// Suspends it, as a machine that goes to sleep does.
    Stop,
    /// Resumes it.
    Continue,
}

impl ProcessSignal {
    /// Sends the signal to a process.
    #[track_caller]
    pub fn send(self, pid: u32) {
        let name = match self {
            ProcessSignal::Interrupt => "INT",
            ProcessSignal::Terminate => "TERM",
            ProcessSignal::HangUp => "HUP",
            ProcessSignal::Kill => "KILL",
            ProcessSignal::Stop => "STOP",
            ProcessSignal::Continue => "CONT",
        };
        let sent = Command::new("sh").args(["-c", r#"kill -s "$0" "$1""#, name, &pid.to_string()]).status().unwrap();
        assert!(sent.success(), "{name} could not be sent to {pid}");
    }
}

/// The running binary. Dropping it before its end kills it.
#[derive(Debug)]
pub struct RunningBinary {
    child: Child,
    began: Instant,
    stdout: StreamReader,
    stderr: StreamReader,
}

impl RunningBinary {
    #[track_caller]
    pub(super) fn new(mut child: Child, stdin: Vec<u8>) -> RunningBinary {
        let mut input = child.stdin.take().unwrap();
        // On its own thread: the binary may never read its input.
        thread::spawn(move || input.write_all(&stdin));
        let (stdout, stderr) = (StreamReader::new(child.stdout.take()), StreamReader::new(child.stderr.take()));
        RunningBinary { child, began: Instant::now(), stdout, stderr }
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    #[track_caller]
    pub fn signal(&mut self, signal: ProcessSignal) {
        signal.send(self.pid());
    }

    /// Its stdout so far.
    pub fn stdout(&self) -> String {
        self.stdout.heard()
    }

    /// Its stderr so far.
    pub fn stderr(&self) -> String {
        self.stderr.heard()
    }

    /// Waits until stderr contains this text.
    #[track_caller]
    pub fn await_stderr(&self, text: &str) {
        self.await_words(text, || self.stderr());
    }

    /// Waits until stdout contains this text, such as the type of an event.
    #[track_caller]
    pub fn await_stdout(&self, text: &str) {
        self.await_words(text, || self.stdout());
    }

    #[track_caller]
    fn await_words(&self, text: &str, output: impl Fn() -> String) {
        within(PATIENCE, &format!("it says `{text}`"), || output().contains(text));
    }

    /// Waits for its end. The deadline starts anew with each output.
    #[track_caller]
    pub fn wait(mut self) -> BinaryExit {
        let (mut seen, mut silent_since) = (0, Instant::now());
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            let length = self.stdout.len() + self.stderr.len();
            if length > seen {
                (seen, silent_since) = (length, Instant::now());
            }
            assert!(silent_since.elapsed() < PATIENCE, "it neither ends nor says anything:\n{}", self.stderr());
            thread::sleep(Duration::from_millis(5));
        };
        let took = self.began.elapsed();
        BinaryExit { status, stdout: self.stdout.end(), stderr: self.stderr.end(), took }
    }
}

impl Drop for RunningBinary {
    fn drop(&mut self) {
        // Killing fails if it has already ended.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// How the binary ended, and its output.
#[derive(Debug)]
pub struct BinaryExit {
    /// The exit status.
    pub status: ExitStatus,
    /// All of stdout.
    pub stdout: String,
    /// All of stderr.
    pub stderr: String,
    /// How long it took.
    pub took: Duration,
}

impl BinaryExit {
    /// Its exit code; `None` if a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Fails unless it ended by itself with this code and without a panic.
    #[track_caller]
    pub fn expect(self, code: i32) -> BinaryExit {
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        assert_eq!(self.status.code(), Some(code), "{self:#?}");
        self
    }

    /// Fails unless SIGKILL ended it.
    #[track_caller]
    pub fn expect_killed(self) -> BinaryExit {
        assert_eq!(self.status.signal(), Some(9), "{self:#?}");
        self
    }

    /// Fails unless stderr contains all of these texts.
    #[track_caller]
    pub fn says(self, texts: &[&str]) -> BinaryExit {
        let missing: Vec<_> = texts.iter().filter(|text| !self.stderr.contains(**text)).collect();
        assert!(missing.is_empty(), "{missing:?} not said: {self:#?}");
        self
    }

    /// Stdout as one JSON value.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Stdout as one JSON value per line.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.stdout.lines().map(parse).collect()
    }
}

/// Reads a stream to its end on a thread.
#[derive(Debug)]
struct StreamReader {
    heard: Arc<Mutex<Vec<u8>>>,
    listener: Option<JoinHandle<()>>,
}

impl StreamReader {
    fn new(stream: Option<impl Read + Send + 'static>) -> StreamReader {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let listener = stream.map(|stream| {
            let heard = Arc::clone(&heard);
            thread::spawn(move || listen(stream, &heard))
        });
        StreamReader { heard, listener }
    }

    fn heard(&self) -> String {
        String::from_utf8_lossy(&self.heard.lock().unwrap()).into_owned()
    }

    fn len(&self) -> usize {
        self.heard.lock().unwrap().len()
    }

    /// The whole output, once every process has closed the stream.
    #[track_caller]
    fn end(&mut self) -> String {
        if let Some(listener) = self.listener.take() {
            within(PATIENCE, "the end of the stream", || listener.is_finished());
        }
        self.heard()
    }
}

fn listen(mut stream: impl Read, output: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 8192];
    while let Ok(count @ 1..) = stream.read(&mut bytes) {
        output.lock().unwrap().extend_from_slice(&bytes[..count]);
    }
}
