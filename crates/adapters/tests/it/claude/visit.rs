//! A test client of the adapter, and the session host that it uses.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bosun_adapters::AdapterExit;
use host::Home;
use protocol::{PermissionMode, SessionOptions};
use serde_json::{Value, json};
use server::{OpenRefusal, OpenRequest, OpenSessionFuture, SessionOpener};
use testkit::session::{Scenario, SessionFixture};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::task::JoinSet;

/// How long any step may take.
const STEP_TIMEOUT: Duration = Duration::from_secs(20);

/// Opens the sessions of a fixture, and records the requested options.
#[derive(Debug)]
pub(super) struct ClaudeTestHost {
    pub(super) fixture: SessionFixture,
    pub(super) opened_with: Mutex<Vec<SessionOptions>>,
    variables: Vec<(String, String)>,
}

impl ClaudeTestHost {
    pub(super) fn new(scenario: Scenario) -> Arc<ClaudeTestHost> {
        ClaudeTestHost::with_variables(scenario, &[])
    }

    /// Creates a host with these environment variables.
    pub(super) fn with_variables(scenario: Scenario, variables: &[(&str, &str)]) -> Arc<ClaudeTestHost> {
        let stage = scenario.ready();
        stage.set_ask_wait(None);
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Arc::new(ClaudeTestHost { fixture: stage, opened_with: Mutex::default(), variables })
    }
}

impl SessionOpener for ClaudeTestHost {
    fn home(&self) -> &Home {
        self.fixture.home()
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    fn open(&self, request: OpenRequest) -> OpenSessionFuture<'_> {
        Box::pin(async move {
            let OpenRequest { start, id, options, client_extensions: extensions, .. } = request;
            if options.permission == Some(PermissionMode::AllowAll) {
                self.fixture.set_mode(PermissionMode::AllowAll);
            }
            self.opened_with.lock().unwrap().push(options);
            let opened = self.fixture.open_as_adapter(start, id, extensions).await;
            opened.map_err(|error| OpenRefusal { words: error.to_string(), hint: None })
        })
    }
}

/// A client of the adapter.
pub(super) struct ClaudeTestClient {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: Option<WriteHalf<DuplexStream>>,
    adapter: JoinSet<AdapterExit>,
    pub(super) received: Vec<Value>,
}

impl ClaudeTestClient {
    /// Starts the adapter.
    pub(super) fn new(test_host: &Arc<ClaudeTestHost>, args: &[&str]) -> ClaudeTestClient {
        let (client, adapter) = tokio::io::duplex(1 << 20);
        let (their_input, their_output) = tokio::io::split(adapter);
        let (our_input, our_output) = tokio::io::split(client);
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let mut adapter_task = JoinSet::new();
        adapter_task.spawn(bosun_adapters::claude::serve_on(
            Arc::clone(test_host) as Arc<dyn SessionOpener>,
            args,
            their_input,
            their_output,
        ));
        ClaudeTestClient {
            lines: BufReader::new(our_input).lines(),
            input: Some(our_output),
            adapter: adapter_task,
            received: Vec::new(),
        }
    }

    /// Starts the adapter and sends `initialize`.
    pub(super) async fn initialized(
        test_host: &Arc<ClaudeTestHost>,
        args: &[&str],
        initialize: Value,
    ) -> ClaudeTestClient {
        let mut client = ClaudeTestClient::new(test_host, args);
        let mut request = initialize;
        request["subtype"] = json!("initialize");
        let answer = client.request(request).await;
        assert_eq!(answer["subtype"], "success", "{answer}");
        client
    }

    /// Sends a line.
    pub(super) async fn send(&mut self, frame: Value) {
        self.send_bytes(format!("{frame}\n").as_bytes()).await;
    }

    /// Sends bytes.
    pub(super) async fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        tokio::time::timeout(STEP_TIMEOUT, input.write_all(bytes)).await.unwrap().unwrap();
    }

    /// Sends a user message.
    pub(super) async fn prompt(&mut self, text: &str) {
        let message = json!({ "role": "user", "content": text });
        self.send(json!({ "type": "user", "session_id": "default", "message": message, "parent_tool_use_id": null }))
            .await;
    }

    /// Sends a control request and returns the response.
    pub(super) async fn request(&mut self, request: Value) -> Value {
        let id = format!("req-{}", self.received.len());
        self.send(json!({ "type": "control_request", "request_id": id, "request": request })).await;
        let answer = self
            .next_matching(|frame| frame["type"] == "control_response" && frame["response"]["request_id"] == *id)
            .await;
        answer["response"].clone()
    }

    /// Answers a request of the adapter.
    pub(super) async fn answer(&mut self, request: &Value, answer: Value) {
        let response = json!({ "subtype": "success", "request_id": request["request_id"], "response": answer });
        self.send(json!({ "type": "control_response", "response": response })).await;
    }

    /// Returns the next frame; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Value> {
        let line = tokio::time::timeout(STEP_TIMEOUT, self.lines.next_line())
            .await
            .expect("the adapter is silent")
            .unwrap()?;
        let frame: Value = serde_json::from_str(&line).unwrap();
        self.received.push(frame.clone());
        Some(frame)
    }

    /// Returns the next frame that matches, skipping others.
    pub(super) async fn next_matching(&mut self, matches: impl Fn(&Value) -> bool) -> Value {
        loop {
            let frame = self.next().await.unwrap_or_else(|| panic!("the adapter closed: {:#?}", self.received));
            if matches(&frame) {
                return frame;
            }
        }
    }

    /// The next frame of a type.
    pub(super) async fn next_of_type(&mut self, kind: &str) -> Value {
        self.next_matching(|frame| frame["type"] == kind).await
    }

    /// Returns the next request of the adapter with this subtype.
    pub(super) async fn next_request(&mut self, subtype: &str) -> Value {
        self.next_matching(|frame| frame["type"] == "control_request" && frame["request"]["subtype"] == subtype).await
    }

    /// Closes the input, reads to the end, and returns all frames and the adapter's exit.
    pub(super) async fn close(mut self) -> (Vec<Value>, AdapterExit) {
        self.input.take().unwrap().shutdown().await.unwrap();
        while self.next().await.is_some() {}
        let ended = tokio::time::timeout(STEP_TIMEOUT, self.adapter.join_next()).await.expect("the adapter stays open");
        (self.received, ended.unwrap().unwrap())
    }

    /// Disconnects abruptly, and returns the adapter's exit.
    pub(super) async fn disconnect(self) -> AdapterExit {
        let ClaudeTestClient { lines, input, mut adapter, .. } = self;
        drop((lines, input));
        tokio::time::timeout(STEP_TIMEOUT, adapter.join_next()).await.expect("the adapter stays open").unwrap().unwrap()
    }
}

/// The types of frames, with their subtype and the type of their first block.
pub(super) fn kinds(frames: &[Value]) -> Vec<String> {
    let kind = |frame: &Value| {
        let names = [&frame["type"], &frame["subtype"], &frame["message"]["content"][0]["type"]];
        names.into_iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
    };
    frames.iter().map(kind).collect()
}
