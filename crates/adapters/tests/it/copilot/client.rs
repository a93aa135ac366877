//! A minimal test client of the adapter, and the opener that it uses.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bosun_adapters::AdapterExit;
use host::Home;
use model::TurnHeaders;
use protocol::SessionOptions;
use serde_json::{Value, json};
use server::{OpenRefusal, OpenRequest, OpenSessionFuture, SessionOpener};
use testkit::session::{Scenario, SessionFixture};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinSet;

/// How long any step may take.
const STEP_TIMEOUT: Duration = Duration::from_secs(20);

/// Opens the sessions of one fixture.
pub(crate) struct CopilotTestOpener {
    fixture: SessionFixture,
    /// The options of the last session.
    pub(crate) options: Mutex<SessionOptions>,
    /// How many texts the last session must not write.
    pub(crate) secrets: Mutex<usize>,
    /// The headers that clients add to requests of the last session.
    pub(crate) turn_headers: Mutex<TurnHeaders>,
    /// The named providers of the last session whose tokens the client supplies.
    pub(crate) token_providers: Mutex<Vec<String>>,
    /// The value of `COPILOT_HOME`.
    base_dir: Option<String>,
    /// The address of GitHub's API.
    pub(crate) github: Mutex<Option<String>>,
}

impl SessionOpener for CopilotTestOpener {
    fn home(&self) -> &Home {
        self.fixture.home()
    }

    fn variable(&self, name: &str) -> Option<String> {
        match name {
            "COPILOT_HOME" => self.base_dir.clone(),
            "COPILOT_DEBUG_GITHUB_API_URL" => self.github.lock().unwrap().clone(),
            _other => None,
        }
    }

    fn open(&self, request: OpenRequest) -> OpenSessionFuture<'_> {
        Box::pin(async move {
            *self.options.lock().unwrap() = request.options;
            *self.secrets.lock().unwrap() = request.secrets.len();
            *self.turn_headers.lock().unwrap() = request.turn_headers;
            let supplied = request.named_providers.iter().filter(|(_, provider)| provider.tokens.is_some());
            *self.token_providers.lock().unwrap() = supplied.map(|(name, _)| name.clone()).collect();
            let opened = self.fixture.open_as_adapter(request.start, request.id, request.client_extensions).await;
            opened.map_err(|error| OpenRefusal { words: error.to_string(), hint: None })
        })
    }
}

/// A client of an adapter that runs in this process.
pub(crate) struct CopilotTestClient {
    input: BufReader<ReadHalf<DuplexStream>>,
    output: WriteHalf<DuplexStream>,
    pub(crate) opener: Arc<CopilotTestOpener>,
    adapter: JoinSet<AdapterExit>,
    next: u64,
    /// Messages that were received but not returned yet.
    unread: VecDeque<Value>,
}

impl CopilotTestClient {
    /// Starts an adapter on a scenario.
    pub(crate) fn start(scenario: Scenario) -> CopilotTestClient {
        CopilotTestClient::on_fixture(scenario.ready())
    }

    pub(crate) fn on_fixture(stage: SessionFixture) -> CopilotTestClient {
        CopilotTestClient::with_base_dir(stage, None)
    }

    /// Starts an adapter whose clients have this base directory.
    pub(crate) fn with_base_dir(stage: SessionFixture, base: Option<&str>) -> CopilotTestClient {
        let opener = Arc::new(CopilotTestOpener {
            fixture: stage,
            options: Mutex::default(),
            secrets: Mutex::default(),
            turn_headers: Mutex::default(),
            token_providers: Mutex::default(),
            base_dir: base.map(str::to_owned),
            github: Mutex::default(),
        });
        let (client_end, adapter_end) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(adapter_end);
        let mut adapter = JoinSet::new();
        adapter.spawn(bosun_adapters::copilot::serve_on(Arc::clone(&opener) as Arc<dyn SessionOpener>, input, output));
        let (input, output) = tokio::io::split(client_end);
        CopilotTestClient { input: BufReader::new(input), output, opener, adapter, next: 0, unread: VecDeque::new() }
    }

    pub(crate) fn fixture(&self) -> SessionFixture {
        self.opener.fixture.clone()
    }

    /// Creates a session and returns its id.
    pub(crate) async fn create_session(&mut self, params: Value) -> String {
        let id = params["sessionId"].as_str().unwrap_or("0190aaaa-0000-7000-8000-000000000001").to_owned();
        let mut params = params;
        params["sessionId"] = id.clone().into();
        let created = self.call("session.create", params).await.unwrap();
        assert_eq!(created["sessionId"], id.as_str());
        id
    }

    /// Calls the adapter, keeping other messages for later.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.send_call(method, params).await;
        self.response(id).await
    }

    /// Waits for the answer to a call, keeping other messages for later.
    pub(crate) async fn response(&mut self, id: u64) -> Result<Value, Value> {
        loop {
            let message = self.read().await.expect("the adapter closed");
            if message["id"] == id && message["method"].is_null() {
                return match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].clone()),
                };
            }
            self.unread.push_back(message);
        }
    }

    pub(crate) async fn send_call(&mut self, method: &str, params: Value) -> u64 {
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
    pub(crate) async fn next_event(&mut self, kind: &str) -> Value {
        self.until(|message| message["params"]["event"]["type"] == kind).await["params"]["event"].clone()
    }

    /// Every event up to the first of this type.
    pub(crate) async fn events_until(&mut self, kind: &str) -> Vec<Value> {
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

    /// Returns the next request of the adapter whose method begins like this, keeping other messages for later.
    pub(crate) async fn next_request(&mut self, method: &str) -> Value {
        let mut skipped = VecDeque::new();
        let request = loop {
            let message = self.next().await;
            if message["method"].as_str().is_some_and(|name| name.starts_with(method)) {
                break message;
            }
            skipped.push_back(message);
        };
        skipped.append(&mut self.unread);
        self.unread = skipped;
        request
    }

    pub(crate) async fn answer(&mut self, request: &Value, result: Value) {
        self.write(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
    }

    pub(crate) async fn until(&mut self, matches: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next().await;
            if matches(&message) {
                return message;
            }
        }
    }

    async fn next(&mut self) -> Value {
        match self.unread.pop_front() {
            Some(message) => message,
            None => self.read().await.expect("the adapter closed"),
        }
    }

    /// Returns the next message; `None` when the adapter has closed.
    pub(crate) async fn read(&mut self) -> Option<Value> {
        tokio::time::timeout(STEP_TIMEOUT, self.frame()).await.expect("the adapter says nothing")
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

    /// Disconnects and waits until the adapter has closed.
    pub(crate) async fn close(mut self) -> AdapterExit {
        self.output.shutdown().await.unwrap();
        let draining = async { while self.frame().await.is_some() {} };
        tokio::time::timeout(STEP_TIMEOUT, draining).await.unwrap();
        self.adapter.join_next().await.unwrap().unwrap()
    }
}

/// The types of events, without those that only announce a change.
pub(crate) fn kinds(events: &[Value]) -> Vec<&str> {
    let all = events.iter().filter_map(|event| event["type"].as_str());
    all.filter(|kind| !kind.ends_with("_changed") && *kind != "pending_messages.modified").collect()
}
