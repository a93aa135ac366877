//! A client of the adapter, in the test's own process.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bosun_adapters::{AdapterExit, OpenRefusal, OpenRequest, OpenSessionFuture, SessionHost};
use host::Home;
use protocol::PermissionMode;
use serde_json::{Value, json};
use testkit::session::{Scenario, SessionFixture};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::task::JoinSet;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Opens the sessions of a stage, and keeps what was ordered.
#[derive(Debug)]
pub(super) struct Inn {
    pub(super) stage: SessionFixture,
    pub(super) orders: Mutex<Vec<Vec<String>>>,
    variables: Vec<(String, String)>,
}

impl Inn {
    pub(super) fn new(scenario: Scenario) -> Arc<Inn> {
        Inn::knowing(scenario, &[])
    }

    /// One whose environment says this.
    pub(super) fn knowing(scenario: Scenario, variables: &[(&str, &str)]) -> Arc<Inn> {
        let stage = scenario.ready();
        stage.set_ask_wait(None);
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Arc::new(Inn { stage, orders: Mutex::default(), variables })
    }
}

impl SessionHost for Inn {
    fn home(&self) -> &Home {
        self.stage.home()
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    fn open(&self, order: OpenRequest) -> OpenSessionFuture<'_> {
        Box::pin(async move {
            let OpenRequest { start, id, flags, client_extensions: extensions, .. } = order;
            if flags.iter().any(|flag| flag == "--allow-all") {
                self.stage.set_mode(PermissionMode::AllowAll);
            }
            self.orders.lock().unwrap().push(flags);
            let opened = self.stage.open_as_adapter(start, id, extensions).await;
            opened.map_err(|error| OpenRefusal { words: error.to_string(), hint: None })
        })
    }
}

/// A client of the adapter.
pub(super) struct Visit {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: Option<WriteHalf<DuplexStream>>,
    adapter: JoinSet<AdapterExit>,
    pub(super) seen: Vec<Value>,
}

impl Visit {
    /// Starts the adapter.
    pub(super) fn new(inn: &Arc<Inn>, args: &[&str]) -> Visit {
        let (client, adapter) = tokio::io::duplex(1 << 20);
        let (their_input, their_output) = tokio::io::split(adapter);
        let (our_input, our_output) = tokio::io::split(client);
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let mut set = JoinSet::new();
        set.spawn(bosun_adapters::claude::serve_on(
            Arc::clone(inn) as Arc<dyn SessionHost>,
            args,
            their_input,
            their_output,
        ));
        Visit { lines: BufReader::new(our_input).lines(), input: Some(our_output), adapter: set, seen: Vec::new() }
    }

    /// Starts the adapter and says hello.
    pub(super) async fn greeted(inn: &Arc<Inn>, args: &[&str], hello: Value) -> Visit {
        let mut visit = Visit::new(inn, args);
        let mut request = hello;
        request["subtype"] = json!("initialize");
        let answer = visit.request(request).await;
        assert_eq!(answer["subtype"], "success", "{answer}");
        visit
    }

    /// Sends a line.
    pub(super) async fn say(&mut self, frame: Value) {
        self.raw(format!("{frame}\n").as_bytes()).await;
    }

    /// Sends bytes.
    pub(super) async fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        tokio::time::timeout(PATIENCE, input.write_all(bytes)).await.unwrap().unwrap();
    }

    /// Sends a message of the user.
    pub(super) async fn prompt(&mut self, text: &str) {
        let message = json!({ "role": "user", "content": text });
        self.say(json!({ "type": "user", "session_id": "default", "message": message, "parent_tool_use_id": null }))
            .await;
    }

    /// Asks for something, and gives the answer.
    pub(super) async fn request(&mut self, request: Value) -> Value {
        let id = format!("req-{}", self.seen.len());
        self.say(json!({ "type": "control_request", "request_id": id, "request": request })).await;
        let answer =
            self.until(|frame| frame["type"] == "control_response" && frame["response"]["request_id"] == *id).await;
        answer["response"].clone()
    }

    /// Answers a request of the adapter's.
    pub(super) async fn answer(&mut self, request: &Value, answer: Value) {
        let response = json!({ "subtype": "success", "request_id": request["request_id"], "response": answer });
        self.say(json!({ "type": "control_response", "response": response })).await;
    }

    /// The next frame; nothing at the end.
    pub(super) async fn next(&mut self) -> Option<Value> {
        let line =
            tokio::time::timeout(PATIENCE, self.lines.next_line()).await.expect("the adapter is silent").unwrap()?;
        let frame: Value = serde_json::from_str(&line).unwrap();
        self.seen.push(frame.clone());
        Some(frame)
    }

    /// The next frame that is wanted; those before it are passed over.
    pub(super) async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let frame = self.next().await.unwrap_or_else(|| panic!("the adapter closed: {:#?}", self.seen));
            if wanted(&frame) {
                return frame;
            }
        }
    }

    /// The next frame of a type.
    pub(super) async fn until_type(&mut self, kind: &str) -> Value {
        self.until(|frame| frame["type"] == kind).await
    }

    /// The next request of the adapter's.
    pub(super) async fn asked(&mut self, subtype: &str) -> Value {
        self.until(|frame| frame["type"] == "control_request" && frame["request"]["subtype"] == subtype).await
    }

    /// Says nothing more, reads to the end, and tells how the adapter ended.
    pub(super) async fn close(mut self) -> (Vec<Value>, AdapterExit) {
        self.input.take().unwrap().shutdown().await.unwrap();
        while self.next().await.is_some() {}
        let ended = tokio::time::timeout(PATIENCE, self.adapter.join_next()).await.expect("the adapter stays open");
        (self.seen, ended.unwrap().unwrap())
    }

    /// Dies without a word; tells how the adapter ended.
    pub(super) async fn die(self) -> AdapterExit {
        let Visit { lines, input, mut adapter, .. } = self;
        drop((lines, input));
        tokio::time::timeout(PATIENCE, adapter.join_next()).await.expect("the adapter stays open").unwrap().unwrap()
    }
}

/// The types of frames, with what tells those of a type apart.
pub(super) fn kinds(frames: &[Value]) -> Vec<String> {
    let kind = |frame: &Value| {
        let words = [&frame["type"], &frame["subtype"], &frame["message"]["content"][0]["type"]];
        words.into_iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
    };
    frames.iter().map(kind).collect()
}
