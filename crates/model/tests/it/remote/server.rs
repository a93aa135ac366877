//! A provider that sends given answers and records the requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bosun_model::{
    Delta, Model, ModelError, ModelReply, ModelRequest, Provider, ProviderKey, Providers, WireFormat, open,
};
use futures_util::StreamExt;
use net::{HttpTimeouts, Secret};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

pub(crate) const WIRES: [WireFormat; 3] = [WireFormat::Anthropic, WireFormat::Responses, WireFormat::Chat];

/// A key that must not show anywhere.
pub(crate) const KEY: &str = "sk-very-secret-1234";

/// Longer than any test takes.
pub(crate) const PATIENT: HttpTimeouts = HttpTimeouts {
    connect: Duration::from_secs(30),
    first_byte: Duration::from_secs(30),
    idle: Duration::from_secs(30),
};

/// What the server does with each request.
#[derive(Clone)]
pub(crate) enum Act {
    /// Sends these bytes and closes.
    Send(String),
    /// Sends these bytes and keeps the connection open.
    Hang(String),
}

/// A running provider.
pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
    _running: JoinSet<()>,
}

impl Server {
    /// Does the same with every request.
    pub(crate) async fn start(act: Act) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (seen, connections) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<Mutex<usize>>::default());
        let (all, count) = (Arc::clone(&seen), Arc::clone(&connections));
        let mut running = JoinSet::new();
        running.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                *count.lock().unwrap() += 1;
                open.spawn(serve(stream, act.clone(), Arc::clone(&all)));
            }
        });
        Server { url, seen, connections, _running: running }
    }

    /// The whole requests it got.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    /// The body of the last request.
    pub(crate) fn body(&self) -> String {
        self.requests().pop().unwrap().split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// The number of connections.
    pub(crate) fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }

    /// The model `name` of this provider.
    pub(crate) fn model(&self, wire: WireFormat, name: &str) -> Arc<dyn Model> {
        self.model_with(wire, name, PATIENT)
    }

    /// The model `name` of this provider, with these timeouts.
    pub(crate) fn model_with(&self, wire: WireFormat, name: &str, patience: HttpTimeouts) -> Arc<dyn Model> {
        let key = ProviderKey::Present(Secret::new(KEY).found_in("TEST_API_KEY"));
        let at = Provider::new(wire, &self.url, key);
        let places = BTreeMap::from([("test".into(), at)]);
        let providers = Providers { by_name: places, timeouts: patience, ..Providers::default() };
        open(&format!("test/{name}"), "/".as_ref(), &providers).unwrap()
    }
}

async fn serve(mut stream: TcpStream, act: Act, seen: Arc<Mutex<Vec<String>>>) {
    loop {
        let Some(request) = read(&mut stream).await else { return };
        seen.lock().unwrap().push(request);
        let (bytes, stays) = match &act {
            Act::Send(bytes) => (bytes, bytes.contains("keep-alive")),
            Act::Hang(bytes) => (bytes, false),
        };
        if stream.write_all(bytes.as_bytes()).await.is_err() {
            return;
        }
        match act {
            Act::Hang(_) => std::future::pending().await,
            Act::Send(_) if stays => {}
            Act::Send(_) => return,
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.parse().unwrap());
            if body.len() >= length {
                return Some(text);
            }
        }
        if stream.read_buf(&mut request).await.ok()? == 0 {
            return None;
        }
    }
}

/// The bytes of an answer.
pub(crate) fn http(status: u16, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

/// The bytes of a good answer.
pub(crate) fn events(body: &str) -> String {
    http(200, "content-type: text/event-stream\r\n", body)
}

/// All deltas of a model for an answer.
pub(crate) async fn deltas(wire: WireFormat, answer: &str, request: ModelRequest) -> Vec<Result<Delta, ModelError>> {
    let server = Server::start(Act::Send(answer.into())).await;
    server.model(wire, "asked").send(request).collect().await
}

/// The reply of a model to a body of events.
pub(crate) async fn answer(wire: WireFormat, body: &str) -> Result<ModelReply, ModelError> {
    let server = Server::start(Act::Send(events(body))).await;
    let model = server.model(wire, "asked");
    ModelReply::collect(model.send(crate::conversation::prompt("go"))).await
}

/// A recorded answer of a wire.
pub(crate) fn recorded(wire: WireFormat) -> &'static str {
    match wire {
        WireFormat::Anthropic => include_str!("../recorded/anthropic.sse"),
        WireFormat::Responses => include_str!("../recorded/responses.sse"),
        WireFormat::Chat => include_str!("../recorded/chat.sse"),
    }
}
