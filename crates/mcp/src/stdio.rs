//! The transport to a program: one JSON-RPC message per line of its input and output.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use host::{ExitGrace, Guardian, Job, Process, ProcessInput, ProcessOutput, Program, Stderr, Stdin};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::message::{self, MAX_MESSAGE_BYTES, UnusableMessage};
use crate::settings::McpProgram;
use crate::transport::ServerMessageSink;
use crate::{McpResponseFuture, McpTransport, ServerLog};

/// How many lines in a row may be no messages, as those of a server that prints its log.
const MAX_INVALID_LINES: usize = 1000;

/// How many messages may wait for a server that does not read.
const MAX_UNSENT: usize = 64;

/// How long a server that has closed its output may take to end.
const EXIT_WAIT: Duration = Duration::from_secs(1);

/// How much of a server's error output is kept for error messages.
const ERROR_OUTPUT_BYTES: usize = 2000;

/// The transport to a program. Dropping it ends the program.
pub(crate) struct StdioTransport {
    outgoing: mpsc::Sender<String>,
    messages: Mutex<Option<mpsc::Receiver<Value>>>,
    state: Arc<StdioState>,
    _tasks: JoinSet<()>,
}

#[derive(Debug, Default)]
struct StdioState {
    /// The requests that wait for a response, by id.
    waiting: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
    /// Why the connection ended.
    closed: Mutex<Option<String>>,
    /// The end of the error output.
    error_output: Mutex<VecDeque<u8>>,
}

impl StdioTransport {
    /// Starts the program with this environment, to which its own variables are added.
    pub(crate) async fn start(
        guardian: &Guardian,
        program: &McpProgram,
        env: &[(OsString, OsString)],
        log: ServerLog,
    ) -> Result<StdioTransport, String> {
        let is_changed = |(path, digest): &&(PathBuf, String)| hooks::program_digest(path) != *digest;
        if let Some((path, _)) = program.pinned.iter().find(is_changed) {
            return Err(format!("{} has changed since the project was trusted", path.display()));
        }
        let mut start = Program::new(&program.command, &program.cwd).args(&program.args);
        let is_own = |name: &OsString| program.env.iter().any(|(own, _)| name == own.as_str());
        start.env = env.iter().filter(|(name, _)| !is_own(name)).cloned().collect();
        start.env.extend(program.env.iter().map(|(name, value)| (name.into(), value.reveal().into())));
        (start.stdin, start.stderr, start.exit_grace) = (Stdin::Pipe, Stderr::Pipe, ExitGrace::Patient);
        let process = guardian.spawn(start).await.map_err(|error| error.to_string())?;
        let Process { stdin, output, stderr, job } = process;
        let (sink, messages) = ServerMessageSink::new();
        let (outgoing, unsent) = mpsc::channel(MAX_UNSENT);
        let state = Arc::new(StdioState::default());
        let mut tasks = JoinSet::new();
        if let Some(stdin) = stdin {
            tasks.spawn(write_messages(stdin, unsent));
        }
        if let Some(stderr) = stderr {
            tasks.spawn(read_error_output(stderr, Arc::clone(&state), log));
        }
        let reader = MessageReader { state: Arc::clone(&state), sink, invalid_lines: 0 };
        tasks.spawn(reader.run(output, job));
        Ok(StdioTransport { outgoing, messages: Mutex::new(Some(messages)), state, _tasks: tasks })
    }

    async fn exchange(&self, message: Value) -> Result<Value, String> {
        let request = message.get("method").and(message.get("id")).and_then(Value::as_u64);
        let Some(id) = request else { return self.write(&message).await.map(|()| Value::Null) };
        let (sender, response) = oneshot::channel();
        let waiter = Waiter { state: &self.state, id };
        lock(&self.state.waiting).insert(id, sender);
        // A connection that ended before the request was registered does not answer it any more.
        if let Some(why) = self.closed() {
            return Err(why);
        }
        self.write(&message).await?;
        let received = response.await;
        drop(waiter);
        received.map_err(|_closed| self.state.reason())
    }

    async fn write(&self, message: &Value) -> Result<(), String> {
        self.outgoing.send(format!("{message}\n")).await.map_err(|_closed| self.state.reason())
    }
}

/// Forgets a request that nobody waits for any more.
struct Waiter<'a> {
    state: &'a StdioState,
    id: u64,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        lock(&self.state.waiting).remove(&self.id);
    }
}

impl McpTransport for StdioTransport {
    fn send(&self, message: Value) -> McpResponseFuture<'_> {
        Box::pin(async move { Ok(self.exchange(message).await?) })
    }

    fn take_server_messages(&self) -> Option<mpsc::Receiver<Value>> {
        lock(&self.messages).take()
    }

    fn closed(&self) -> Option<String> {
        lock(&self.state.closed).clone()
    }
}

impl StdioState {
    fn reason(&self) -> String {
        lock(&self.closed).clone().unwrap_or_else(|| "the connection is closed".into())
    }

    /// Ends the connection: every request that waits gets the reason.
    fn close(&self, reason: String) {
        let text = String::from_utf8_lossy(&lock(&self.error_output).iter().copied().collect::<Vec<u8>>()).into_owned();
        let reason = match text.trim() {
            "" => reason,
            output => format!("{reason}; its error output ends with: {output}"),
        };
        lock(&self.closed).get_or_insert(reason);
        lock(&self.waiting).clear();
    }

    fn answer(&self, id: u64, response: Value) {
        match lock(&self.waiting).remove(&id) {
            // A request that was cancelled meanwhile has no receiver.
            Some(waiting) => drop(waiting.send(response)),
            None => tracing::debug!(id, "an MCP server answered a request that is not open"),
        }
    }
}

/// Reads the messages of a server.
struct MessageReader {
    state: Arc<StdioState>,
    sink: ServerMessageSink,
    invalid_lines: usize,
}

impl MessageReader {
    async fn run(mut self, mut output: ProcessOutput, mut job: Job) {
        let reason = match self.read(&mut output).await {
            Ok(()) => match timeout(EXIT_WAIT, job.wait()).await {
                Ok(Ok(exit)) => format!("it ended: {}", exit.status),
                Ok(Err(error)) => format!("it ended: {error}"),
                Err(_running) => "it closed its output".into(),
            },
            Err(reason) => reason,
        };
        self.state.close(reason);
    }

    /// Reads until the output ends, or until the server violates the protocol.
    async fn read(&mut self, output: &mut ProcessOutput) -> Result<(), String> {
        let mut line = Vec::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = output.read(&mut buffer).await.map_err(|error| format!("cannot read its output: {error}"))?;
            if count == 0 {
                return Ok(());
            }
            let mut rest = &buffer[..count];
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                line.extend_from_slice(&rest[..end]);
                self.receive_line(&line)?;
                line.clear();
                rest = &rest[end + 1..];
            }
            line.extend_from_slice(rest);
            if line.len() > MAX_MESSAGE_BYTES {
                return Err(ended_for(&UnusableMessage::TooLarge));
            }
        }
    }

    fn receive_line(&mut self, line: &[u8]) -> Result<(), String> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(());
        }
        match message::parse(line) {
            Ok(Value::Array(messages)) => messages.into_iter().for_each(|message| self.receive(message)),
            Ok(message @ Value::Object(_)) => self.receive(message),
            // It may be the answer to any request, so none of them can be answered any more.
            Err(unusable @ (UnusableMessage::TooLarge | UnusableMessage::TooManyValues | UnusableMessage::TooDeep)) => {
                return Err(ended_for(&unusable));
            }
            Ok(_) | Err(UnusableMessage::NotJson(_)) => {
                self.invalid_lines += 1;
                tracing::debug!("an MCP server wrote a line that is not a message");
                if self.invalid_lines > MAX_INVALID_LINES {
                    return Err(format!("it wrote over {MAX_INVALID_LINES} lines that are not messages"));
                }
                return Ok(());
            }
        }
        self.invalid_lines = 0;
        Ok(())
    }

    fn receive(&self, message: Value) {
        if message.get("method").is_some() {
            self.sink.push(message);
        } else if let Some(id) = message.get("id").and_then(Value::as_u64) {
            self.state.answer(id, message);
        } else {
            tracing::debug!("an MCP server sent a message that is neither a request nor a response");
        }
    }
}

fn ended_for(unusable: &UnusableMessage) -> String {
    format!("{unusable}, so it was ended")
}

/// Writes messages whole, one after the other: a caller that stops waiting must not cut one off.
async fn write_messages(mut stdin: ProcessInput, mut unsent: mpsc::Receiver<String>) {
    while let Some(message) = unsent.recv().await {
        if stdin.write_all(message.as_bytes()).await.is_err() {
            // The reader learns of the end of the process and tells those who wait.
            return;
        }
    }
}

/// Keeps the end of the error output, and logs all of it.
async fn read_error_output(mut stderr: ProcessOutput, state: Arc<StdioState>, mut log: ServerLog) {
    let mut buffer = vec![0; 8 * 1024];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        let mut kept = lock(&state.error_output);
        kept.extend(&buffer[..count]);
        let excess = kept.len().saturating_sub(ERROR_OUTPUT_BYTES);
        kept.drain(..excess);
        drop(kept);
        log.append(&buffer[..count]);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for StdioTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the program of an MCP server, closed: {:?}", self.closed())
    }
}
