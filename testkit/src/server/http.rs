//! As much HTTP/1.1 as three wire formats need, written by hand so that every byte can be wrong on purpose.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// Maximum size of a request's head, in bytes.
const MAX_HEAD: usize = 64 << 10;
/// Maximum size of a request's body, in bytes.
const MAX_BODY: usize = 64 << 20;

/// One request.
#[derive(Debug)]
pub(super) struct ReceivedRequest {
    pub(super) method: String,
    pub(super) path: String,
    /// Names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl ReceivedRequest {
    /// The first header of this name, which is in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Reads requests from one connection.
#[derive(Debug)]
pub(super) struct ConnectionReader {
    from: OwnedReadHalf,
    buffer: Vec<u8>,
}

impl ConnectionReader {
    pub(super) fn new(from: OwnedReadHalf) -> ConnectionReader {
        ConnectionReader { from, buffer: Vec::new() }
    }

    /// The next request; `None` if the client disconnects or does not speak HTTP.
    pub(super) async fn request(&mut self) -> Option<ReceivedRequest> {
        let end = loop {
            if let Some(end) = self.buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end;
            }
            self.more(MAX_HEAD).await?;
        };
        let head = String::from_utf8(self.buffer[..end].to_vec()).ok()?;
        self.buffer.drain(..end + 4);
        let mut request = parse(&head)?;
        let length: usize = request.header("content-length").map_or(Some(0), |length| length.parse().ok())?;
        if length > MAX_BODY {
            return None;
        }
        while self.buffer.len() < length {
            self.more(MAX_BODY).await?;
        }
        request.body = self.buffer.drain(..length).collect();
        Some(request)
    }

    /// Waits until the client has closed the connection.
    pub(super) async fn closed(&mut self) {
        while self.more(MAX_BODY).await.is_some() {}
    }

    async fn more(&mut self, most: usize) -> Option<()> {
        if self.buffer.len() > most {
            return None;
        }
        let count = self.from.read_buf(&mut self.buffer).await.ok()?;
        (count > 0).then_some(())
    }
}

fn parse(head: &str) -> Option<ReceivedRequest> {
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?);
    let path = target.split('?').next()?.to_owned();
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    Some(ReceivedRequest { method, path, headers: lines.map(header).collect::<Option<_>>()?, body: Vec::new() })
}

/// A complete response.
#[derive(Debug)]
pub(super) struct FullResponse {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) kind: &'static str,
    pub(super) body: Vec<u8>,
}

impl FullResponse {
    pub(super) fn json(status: u16, body: &Value) -> FullResponse {
        FullResponse { status, headers: Vec::new(), kind: "application/json", body: body.to_string().into_bytes() }
    }

    pub(super) async fn send(self, to: &mut OwnedWriteHalf) -> io::Result<()> {
        let mut bytes = head(self.status, self.kind);
        for (name, value) in &self.headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", self.body.len()).as_bytes());
        bytes.extend_from_slice(&self.body);
        to.write_all(&bytes).await
    }
}

/// The head of a streamed response.
pub(super) fn stream_head() -> Vec<u8> {
    let mut bytes = head(200, "text/event-stream; charset=utf-8");
    bytes.extend_from_slice(b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n");
    bytes
}

fn head(status: u16, kind: &str) -> Vec<u8> {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Other",
    };
    format!("HTTP/1.1 {status} {reason}\r\ncontent-type: {kind}\r\n").into_bytes()
}
