//! A client of the adapter as small as can be, and a house with one stage.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bosun_adapters::{AdapterExit, OpenRefusal, OpenRequest, OpenSessionFuture, SessionHost};
use host::Home;
use serde_json::{Value, json};
use testkit::session::{Scenario, SessionFixture};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinSet;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A house whose sessions are all of one stage.
pub(crate) struct Cottage {
    stage: SessionFixture,
    pub(crate) flags: Mutex<Vec<String>>,
    /// What `COPILOT_HOME` names.
    base: Option<String>,
}

impl SessionHost for Cottage {
    fn home(&self) -> &Home {
        self.stage.home()
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.base.clone().filter(|_| name == "COPILOT_HOME")
    }

    fn open(&self, order: OpenRequest) -> OpenSessionFuture<'_> {
        Box::pin(async move {
            *self.flags.lock().unwrap() = order.flags;
            let opened = self.stage.open_as_adapter(order.start, order.id, order.client_extensions).await;
            opened.map_err(|error| OpenRefusal { words: error.to_string(), hint: None })
        })
    }
}

/// A client of an adapter that runs in this process.
pub(crate) struct Client {
    input: BufReader<ReadHalf<DuplexStream>>,
    output: WriteHalf<DuplexStream>,
    pub(crate) session_host: Arc<Cottage>,
    adapter: JoinSet<AdapterExit>,
    next: u64,
    /// What was told and not looked at.
    heard: VecDeque<Value>,
}

impl Client {
    /// Opens an adapter to a scenario.
    pub(crate) fn of(scenario: Scenario) -> Client {
        Client::at(scenario.ready())
    }

    pub(crate) fn at(stage: SessionFixture) -> Client {
        Client::under(stage, None)
    }

    /// One whose program keeps its sessions under a base directory.
    pub(crate) fn under(stage: SessionFixture, base: Option<&str>) -> Client {
        let session_host = Arc::new(Cottage { stage, flags: Mutex::default(), base: base.map(str::to_owned) });
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(theirs);
        let mut adapter = JoinSet::new();
        adapter.spawn(bosun_adapters::copilot::serve_on(
            Arc::clone(&session_host) as Arc<dyn SessionHost>,
            input,
            output,
        ));
        let (input, output) = tokio::io::split(ours);
        Client { input: BufReader::new(input), output, session_host, adapter, next: 0, heard: VecDeque::new() }
    }

    pub(crate) fn stage(&self) -> SessionFixture {
        self.session_host.stage.clone()
    }

    /// Makes a session and gives its id.
    pub(crate) async fn session(&mut self, params: Value) -> String {
        let id = params["sessionId"].as_str().unwrap_or("0190aaaa-0000-7000-8000-000000000001").to_owned();
        let mut params = params;
        params["sessionId"] = id.clone().into();
        let made = self.call("session.create", params).await.unwrap();
        assert_eq!(made["sessionId"], id.as_str());
        id
    }

    /// Calls the adapter; what it says meanwhile is kept.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.begin(method, params).await;
        self.answered(id).await
    }

    /// The answer to a call; what is said meanwhile is kept.
    pub(crate) async fn answered(&mut self, id: u64) -> Result<Value, Value> {
        loop {
            let message = self.read().await.expect("the adapter closed");
            if message["id"] == id && message["method"].is_null() {
                return match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].clone()),
                };
            }
            self.heard.push_back(message);
        }
    }

    pub(crate) async fn begin(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.write(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    pub(crate) async fn write(&mut self, message: Value) {
        let text = message.to_string();
        self.raw(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes()).await;
    }

    pub(crate) async fn raw(&mut self, bytes: &[u8]) {
        self.output.write_all(bytes).await.unwrap();
    }

    /// The next event of this type.
    pub(crate) async fn event(&mut self, kind: &str) -> Value {
        self.until(|message| message["params"]["event"]["type"] == kind).await["params"]["event"].clone()
    }

    /// Every event up to the first of this type.
    pub(crate) async fn events_to(&mut self, kind: &str) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let message = self.until(|message| message["method"] == "session.event").await;
            let event = message["params"]["event"].clone();
            let is_last = event["type"] == kind;
            events.push(event);
            if is_last {
                return events;
            }
        }
    }

    /// The next request of the adapter's; what is told meanwhile is kept.
    pub(crate) async fn asked(&mut self, method: &str) -> Value {
        let mut passed = VecDeque::new();
        let found = loop {
            let message = self.next().await;
            if message["method"] == method {
                break message;
            }
            passed.push_back(message);
        };
        passed.append(&mut self.heard);
        self.heard = passed;
        found
    }

    pub(crate) async fn answer(&mut self, request: &Value, result: Value) {
        self.write(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
    }

    async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next().await;
            if wanted(&message) {
                return message;
            }
        }
    }

    async fn next(&mut self) -> Value {
        match self.heard.pop_front() {
            Some(message) => message,
            None => self.read().await.expect("the adapter closed"),
        }
    }

    /// The next message; none when the adapter has closed.
    pub(crate) async fn read(&mut self) -> Option<Value> {
        tokio::time::timeout(PATIENCE, self.frame()).await.expect("the adapter says nothing")
    }

    async fn frame(&mut self) -> Option<Value> {
        let mut header = String::new();
        if self.input.read_line(&mut header).await.unwrap() == 0 {
            return None;
        }
        let length: usize = header.trim().strip_prefix("Content-Length: ").unwrap().parse().unwrap();
        let mut rest = vec![0; length + 2];
        self.input.read_exact(&mut rest).await.unwrap();
        Some(serde_json::from_slice(&rest[2..]).unwrap())
    }

    /// Hangs up and waits until the adapter has closed.
    pub(crate) async fn leave(mut self) -> AdapterExit {
        self.output.shutdown().await.unwrap();
        let draining = async { while self.frame().await.is_some() {} };
        tokio::time::timeout(PATIENCE, draining).await.unwrap();
        self.adapter.join_next().await.unwrap().unwrap()
    }
}

/// The types of events, without those that only say that something else is to be looked at.
pub(crate) fn kinds(events: &[Value]) -> Vec<&str> {
    let all = events.iter().filter_map(|event| event["type"].as_str());
    all.filter(|kind| !kind.ends_with("_changed") && *kind != "pending_messages.modified").collect()
}
