//! A client that keeps every byte.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bosun_testkit::server::ModelServer;
use model::WireFormat;
use serde_json::{Value, json};

/// All wires.
pub(crate) const WIRES: [WireFormat; 3] = [WireFormat::Anthropic, WireFormat::Responses, WireFormat::Chat];

/// What came back.
#[derive(Debug)]
pub(crate) struct Got {
    /// None when not even a status came.
    pub(crate) status: Option<u16>,
    pub(crate) head: String,
    /// The body without the marks of its chunks.
    pub(crate) body: String,
    pub(crate) end: End,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// As its head promised.
    Complete,
    /// Before that.
    Cut,
    /// Not at all.
    Silent,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The data of the stream's events, up to the end mark of the one wire that has one.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    /// The message of an error, wherever the wire has it.
    pub(crate) fn message(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap().to_owned()
    }
}

/// A stream's question with one user message.
pub(crate) fn question(wire: WireFormat, prompt: &str) -> Value {
    let message = json!([{ "role": "user", "content": prompt }]);
    let mut body = match wire {
        WireFormat::Anthropic => json!({ "max_tokens": 1000, "messages": message }),
        WireFormat::Responses => json!({ "input": message, "include": ["reasoning.encrypted_content"] }),
        WireFormat::Chat => json!({ "messages": message, "stream_options": { "include_usage": true } }),
    };
    body["model"] = "test-model".into();
    body["stream"] = true.into();
    body
}

/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Asks and reads to the end.
pub(crate) fn ask(server: &ModelServer, wire: WireFormat, body: &Value) -> Got {
    ask_within(server, wire, body, PATIENCE)
}

/// Asks and reads to the end, or until nothing has come for so long.
pub(crate) fn ask_within(server: &ModelServer, wire: WireFormat, body: &Value, patience: Duration) -> Got {
    let (path, headers) = match wire {
        WireFormat::Anthropic => ("/v1/messages", "x-api-key: k\r\nanthropic-version: 2023-06-01"),
        WireFormat::Responses => ("/v1/responses", "authorization: Bearer k"),
        WireFormat::Chat => ("/v1/chat/completions", "authorization: Bearer k"),
    };
    exchange(server, &format!("POST {path} HTTP/1.1\r\n{headers}"), &body.to_string(), patience)
}

/// Sends the beginning of a head and a body.
pub(crate) fn send(server: &ModelServer, head: &str, body: &str) -> Got {
    exchange(server, head, body, PATIENCE)
}

fn exchange(server: &ModelServer, head: &str, body: &str, patience: Duration) -> Got {
    let mut socket = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let head = format!("{head}\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    socket.write_all(format!("{head}{body}").as_bytes()).unwrap();
    socket.set_read_timeout(Some(patience)).unwrap();
    let (bytes, silent) = drain(&mut socket, 1 << 20);
    parse(&String::from_utf8(bytes).unwrap(), silent)
}

/// Reads to the end or to so many bytes, and says whether the other side fell silent.
fn drain(socket: &mut TcpStream, most: usize) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    while bytes.len() < most {
        match socket.read(&mut piece) {
            Ok(0) => return (bytes, false),
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return (bytes, true),
            Err(error) => panic!("{error}"),
        }
    }
    (bytes, false)
}

fn parse(text: &str, silent: bool) -> Got {
    let (head, rest) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let (body, complete) =
        if head.contains("transfer-encoding: chunked") { unchunk(rest) } else { (rest.to_owned(), status.is_some()) };
    let end = match (silent, complete) {
        (true, _) => End::Silent,
        (false, true) => End::Complete,
        (false, false) => End::Cut,
    };
    Got { status, head: head.to_owned(), body, end }
}

/// The bytes of all chunks, and whether the last one came.
fn unchunk(mut rest: &str) -> (String, bool) {
    let mut body = String::new();
    while let Some((size, more)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        body.push_str(&more[..size.min(more.len())]);
        rest = more.get(size + 2..).unwrap_or_default();
    }
    (body, false)
}
