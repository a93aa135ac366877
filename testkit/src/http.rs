//! An HTTP client for a server on loopback that sends exact bytes over plain sockets.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;
use tokio::net::TcpSocket;

use crate::binary::PATIENCE;

/// A client of one server.
#[derive(Debug, Clone)]
pub struct Http {
    address: String,
    token: String,
    room: ReceiveBuffer,
}

/// The size of a client's receive buffer.
#[derive(Debug, Clone, Copy)]
enum ReceiveBuffer {
    Usual,
    Little,
}

/// A server's answer.
#[derive(Debug)]
pub struct HttpReply {
    /// The status.
    pub status: u16,
    /// The status line and the headers.
    pub response_head: String,
    /// The body.
    pub body: String,
}

impl Http {
    /// A client of the server at this URL, with this token.
    pub fn new(url: &str, token: &str) -> Http {
        Http {
            address: url.strip_prefix("http://").unwrap().to_owned(),
            token: token.to_owned(),
            room: ReceiveBuffer::Usual,
        }
    }

    /// The same client with a tiny receive buffer.
    pub fn with_tiny_buffer(&self) -> Http {
        Http { room: ReceiveBuffer::Little, ..self.clone() }
    }

    /// The server's address, without `http://`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// A new connection.
    #[track_caller]
    pub fn connect(&self) -> TcpStream {
        let stream = match self.room {
            ReceiveBuffer::Usual => TcpStream::connect(&self.address).unwrap(),
            ReceiveBuffer::Little => connect_narrow(&self.address),
        };
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends a request and waits for the answer.
    #[track_caller]
    pub fn request(&self, verb: &str, path: &str, body: Option<Value>) -> HttpReply {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
        let length = body.len();
        self.send_raw(&format!("{}{kind}Content-Length: {length}\r\n\r\n{body}", self.head(verb, path)))
    }

    /// Sends a request that must succeed; returns the body.
    #[track_caller]
    pub fn request_ok(&self, verb: &str, path: &str, body: Option<Value>) -> Value {
        let answer = self.request(verb, path, body);
        assert!((200..300).contains(&answer.status), "{verb} {path}: {answer:#?}");
        if answer.body.is_empty() { Value::Null } else { answer.json() }
    }

    /// Sends these bytes and nothing else, and waits until the server closes.
    #[track_caller]
    pub fn send_raw(&self, request: &str) -> HttpReply {
        let mut stream = self.connect();
        // A server may close before it has read everything.
        stream.write_all(request.as_bytes()).ok();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).ok();
        let response = String::from_utf8_lossy(&response);
        let (head, body) = response.split_once("\r\n\r\n").unwrap_or((&response, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        HttpReply { status, response_head: head.to_owned(), body: body.to_owned() }
    }

    /// The head of a request, up to its extra headers. The server closes the connection after its answer.
    pub fn head(&self, verb: &str, path: &str) -> String {
        let Http { address, token, .. } = self;
        format!("{verb} {path} HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n")
    }

    /// Watches a stream of events, starting after the last one seen.
    #[track_caller]
    pub fn watch(&self, path: &str, last: Option<u64>) -> EventStream {
        let mut stream = self.connect();
        let last = last.map(|last| format!("Last-Event-ID: {last}\r\n")).unwrap_or_default();
        stream.write_all(format!("{}{last}\r\n", self.head("GET", path)).as_bytes()).unwrap();
        let mut lines = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(lines.read_line(&mut head).unwrap(), 0, "{head}");
        }
        assert!(head.contains("200 OK") && head.contains("text/event-stream"), "{head}");
        EventStream { lines }
    }
}

/// Standard sockets cannot set their buffer size before they connect.
fn connect_narrow(address: &str) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        socket.connect(address.parse().unwrap()).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream
}

impl HttpReply {
    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Fails unless it is a problem of this status.
    #[track_caller]
    pub fn problem(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:#?}");
        assert!(self.response_head.contains("application/problem+json"), "{self:#?}");
        let problem = self.json();
        assert_eq!(problem["status"], status);
        problem
    }
}

/// A watched stream of events.
#[derive(Debug)]
pub struct EventStream {
    lines: BufReader<TcpStream>,
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct SseEvent {
    /// Its id, if it has one.
    pub id: Option<u64>,
    /// Its name.
    pub name: String,
    /// Its data.
    pub data: Value,
}

impl EventStream {
    /// All events up to and including the first for which `is_last` returns true.
    #[track_caller]
    pub fn until(&mut self, is_last: impl Fn(&SseEvent) -> bool) -> Vec<SseEvent> {
        let mut all = Vec::new();
        loop {
            let event = self.next().unwrap_or_else(|| panic!("the stream ended: {all:#?}"));
            all.push(event);
            if all.last().is_some_and(&is_last) {
                return all;
            }
        }
    }
}

impl Iterator for EventStream {
    type Item = SseEvent;

    /// The next event; `None` when the stream ends.
    fn next(&mut self) -> Option<SseEvent> {
        let (mut id, mut name, mut data) = (None, String::new(), Value::Null);
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("id", value)) => id = Some(value.parse().unwrap()),
                Some(("event", value)) => name = value.to_owned(),
                Some(("data", value)) => data = serde_json::from_str(value).unwrap(),
                Some(_comment) => {}
                None if name.is_empty() => {}
                None => return Some(SseEvent { id, name, data }),
            }
        }
    }
}
