//! Plays a hostile client of an adapter whose session is open and answered by a script. Fuzz targets share it.
//!
//! The bytes are lines, and the first byte of a line says what the client does:
//!
//! - `~` waits for the next message of the adapter, for a short time;
//! - `!` sends the rest of the line as it is, such as half a message, with `|` for the end of a line;
//! - `%` stops reading what the adapter writes;
//! - `#` is gone at once, as if it were killed;
//! - anything else is sent as a message.
//!
//! In a line, `$R` is the id of the adapter's last request, `$Q` of the last decision or call that waits for the client,
//! `$E` of the last event, and `$S` of the session.

use std::sync::Arc;
use std::time::Duration;

use bosun_adapters::AdapterExit;
use host::Home;
use serde_json::{Value, json};
use server::{OpenRefusal, OpenRequest, OpenSessionFuture, SessionOpener};
use testkit::session::{SessionFixture, scenario};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How long the adapter may take to end after its client has left.
const END_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a client waits for a message.
const MESSAGE_TIMEOUT: Duration = Duration::from_millis(60);

/// Maximum number of steps.
const MAX_STEPS: usize = 64;

/// The session of the Copilot client.
const SESSION: &str = "0190aaaa-0000-7000-8000-000000000001";

/// The model: it calls tools of the client and of Bosun, asks, starts agents, and may never end.
const SCRIPT: &str = "
version: 1
rules:
  - when: { path: '/root/.+' }
    answer: [{ say: I looked. }]
  - when: { answered: { matches: '(?s)(.*)' } }
    answer: [{ say: 'It says: ${1}' }]
  - when: { prompt: look up }
    answer: [{ call: { tool: lookup, input: { id: '7' } } }]
  - when: { prompt: use the server }
    answer: [{ call: { tool: mcp__calc__add, input: { a: 1 } } }]
  - when: { prompt: write }
    answer: [{ call: { tool: create, input: { path: note.txt, content: x } } }]
  - when: { prompt: ask me }
    answer: [{ call: { tool: ask_user, input: { question: 'Which?', choices: [red, green] } } }]
  - when: { prompt: start an agent }
    answer:
      - call:
          tool: task
          input: { description: Looks, prompt: look, agent_type: general-purpose, name: looker, mode: background }
  - when: { prompt: never end }
    answer: [say: I begin, hang: true]
  - answer: [drip: { every: 1ms, size: 4 }, say: Some words.]
";

/// Plays a client of the Claude adapter.
pub(crate) fn claude(bytes: &[u8]) {
    let initialize = json!({
        "type": "control_request", "request_id": "i", "request": { "subtype": "initialize", "sdkMcpServers": ["calc"] },
    });
    let steps = [initialize.to_string(), "~".into(), user("write"), "~".into(), "~".into()];
    play(Dialect::Lines, &steps, bytes);
}

/// Plays a client of the Copilot adapter.
pub(crate) fn copilot(bytes: &[u8]) {
    let create = json!({
        "sessionId": SESSION, "streaming": true, "requestUserInput": true, "requestElicitation": true,
        "requestPermission": true, "tools": [{ "name": "lookup", "parameters": { "type": "object" } }],
    });
    let send = json!({ "sessionId": SESSION, "prompt": "look up" });
    let steps =
        [call(1, "session.create", &create), "~".into(), call(2, "session.send", &send), "~".into(), "~".into()];
    play(Dialect::Counted, &steps, bytes);
}

fn user(text: &str) -> String {
    json!({ "type": "user", "message": { "role": "user", "content": text }, "session_id": "", "parent_tool_use_id": null })
        .to_string()
}

fn call(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// How messages are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// Lines of the Claude adapter.
    Lines,
    /// Messages of the Copilot adapter, with their length.
    Counted,
}

/// What a client has read that it may have to repeat.
#[derive(Debug, Default)]
struct Seen {
    messages: u64,
    request: String,
    waiting: String,
    event: String,
}

/// How a client has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaving {
    /// It ends its input and reads to the end.
    Politely,
    /// It is gone.
    Killed,
}

fn play(dialect: Dialect, first: &[String], bytes: &[u8]) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let opener = Arc::new(ScriptedOpener(scenario().script(SCRIPT).ask_wait(None).ready()));
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let mut adapter = JoinSet::new();
        let (input, output) = tokio::io::split(theirs);
        match dialect {
            Dialect::Lines => adapter.spawn(bosun_adapters::claude::serve_on(opener, claude_args(), input, output)),
            Dialect::Counted => adapter.spawn(bosun_adapters::copilot::serve_on(opener, input, output)),
        };
        let client = HostileClient::new(dialect, ours);
        let steps = first.iter().map(String::as_bytes).chain(bytes.split(|byte| *byte == b'\n').take(MAX_STEPS));
        client.play(steps, adapter).await;
    });
}

fn claude_args() -> Vec<String> {
    let args = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];
    args.into_iter().chain(["--permission-prompt-tool", "stdio"]).map(str::to_owned).collect()
}

/// Opens sessions that are answered by the script.
struct ScriptedOpener(SessionFixture);

impl SessionOpener for ScriptedOpener {
    fn home(&self) -> &Home {
        self.0.home()
    }

    fn open(&self, request: OpenRequest) -> OpenSessionFuture<'_> {
        Box::pin(async move {
            let opened = self.0.open_as_adapter(request.start, request.id, request.client_extensions).await;
            opened.map_err(|error| OpenRefusal { words: error.to_string(), hint: None })
        })
    }
}

struct HostileClient {
    dialect: Dialect,
    output: WriteHalf<DuplexStream>,
    /// Reads until it is stopped.
    reader: JoinSet<()>,
    seen: watch::Receiver<Seen>,
    /// How many messages the client has waited for.
    waited_for: u64,
}

impl HostileClient {
    fn new(dialect: Dialect, stream: DuplexStream) -> HostileClient {
        let (input, output) = tokio::io::split(stream);
        let (sender, seen) = watch::channel(Seen::default());
        let mut reader = JoinSet::new();
        reader.spawn(read_all(dialect, BufReader::new(input), sender));
        HostileClient { dialect, output, reader, seen, waited_for: 0 }
    }

    async fn play<'a>(mut self, steps: impl Iterator<Item = &'a [u8]>, mut adapter: JoinSet<AdapterExit>) {
        let mut leaving = Leaving::Politely;
        for step in steps {
            match step.split_first() {
                Some((b'~', _)) => self.wait().await,
                Some((b'!', rest)) => self.send(&with_line_ends(rest)).await,
                Some((b'%', _)) => self.reader.abort_all(),
                Some((b'#', _)) => {
                    leaving = Leaving::Killed;
                    break;
                }
                Some(_) => self.send_message(step).await,
                None => {}
            }
        }
        let ending = async {
            if leaving == Leaving::Politely {
                // It may have closed the connection.
                self.output.shutdown().await.ok();
                while self.reader.join_next().await.is_some() {}
            }
            drop(self);
            adapter.join_next().await.unwrap().unwrap()
        };
        tokio::time::timeout(END_TIMEOUT, ending).await.expect("the adapter does not end");
    }

    async fn wait(&mut self) {
        let next = self.waited_for + 1;
        let waiting = self.seen.wait_for(|seen| seen.messages >= next);
        if tokio::time::timeout(MESSAGE_TIMEOUT, waiting).await.is_ok_and(|message| message.is_ok()) {
            self.waited_for = next;
        }
    }

    async fn send_message(&mut self, message: &[u8]) {
        let message = self.filled(message);
        match self.dialect {
            Dialect::Lines => self.send(&[&message, b"\n".as_slice()].concat()).await,
            Dialect::Counted => {
                let header = format!("Content-Length: {}\r\n\r\n", message.len());
                self.send(&[header.as_bytes(), &message].concat()).await;
            }
        }
    }

    /// Sends bytes, unless the adapter does not read them.
    async fn send(&mut self, bytes: &[u8]) {
        tokio::time::timeout(MESSAGE_TIMEOUT, self.output.write_all(bytes)).await.map(drop).ok();
    }

    /// A message with the ids that it names.
    fn filled(&self, message: &[u8]) -> Vec<u8> {
        let seen = self.seen.borrow();
        let mut filled = Vec::with_capacity(message.len());
        let mut rest = message;
        while let Some((byte, after)) = rest.split_first() {
            let id = match (byte, after.first()) {
                (b'$', Some(b'R')) => Some(seen.request.as_str()),
                (b'$', Some(b'Q')) => Some(seen.waiting.as_str()),
                (b'$', Some(b'E')) => Some(seen.event.as_str()),
                (b'$', Some(b'S')) => Some(SESSION),
                _ => None,
            };
            match id {
                Some(id) => filled.extend_from_slice(id.as_bytes()),
                None => filled.push(*byte),
            }
            rest = if id.is_some() { &after[1..] } else { after };
        }
        filled
    }
}

fn with_line_ends(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| if *byte == b'|' { b'\n' } else { *byte }).collect()
}

/// Reads every message, which must be valid, and notes the ids in it.
async fn read_all(dialect: Dialect, mut input: BufReader<ReadHalf<DuplexStream>>, seen: watch::Sender<Seen>) {
    while let Some(message) = read_message(dialect, &mut input).await {
        seen.send_modify(|seen| {
            seen.messages += 1;
            let text = |value: &Value| value.as_str().map(str::to_owned);
            let event = &message["params"]["event"];
            for (place, found) in [
                (&mut seen.request, text(&message["request_id"])),
                (&mut seen.waiting, text(&event["data"]["requestId"])),
                (&mut seen.event, text(&event["id"]).or_else(|| text(&message["uuid"]))),
            ] {
                if let Some(id) = found {
                    *place = id;
                }
            }
            if message["method"].is_string() && !message["id"].is_null() {
                seen.request = message["id"].as_str().map_or_else(|| message["id"].to_string(), str::to_owned);
            }
        });
    }
}

/// The next message; `None` at the end.
async fn read_message(dialect: Dialect, input: &mut BufReader<ReadHalf<DuplexStream>>) -> Option<Value> {
    let mut line = String::new();
    // A killed adapter would end in the middle of a line; this one runs in the same process.
    if input.read_line(&mut line).await.unwrap() == 0 {
        return None;
    }
    if dialect == Dialect::Lines {
        return Some(serde_json::from_str(&line).unwrap());
    }
    let length: usize = line.trim().strip_prefix("Content-Length: ").unwrap().parse().unwrap();
    let mut rest = vec![0; length + 2];
    input.read_exact(&mut rest).await.unwrap();
    Some(serde_json::from_slice(&rest[2..]).unwrap())
}
