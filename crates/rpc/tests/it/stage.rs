//! A server for tests: it echoes, and its methods do what their parameters say.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "only tests use this")]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bosun_rpc::{ClientHandle, ErrorObject, Notifications, RequestHandler, ResponseFuture, RpcClient, local, serve};
use protocol::api::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long any step may take; a longer one hangs.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);

/// Fails a test that hangs.
pub(crate) async fn within_timeout<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(STEP_TIMEOUT, future).await.expect("this hangs")
}

/// A request handler that logs what it does, in order.
#[derive(Debug, Default)]
pub(crate) struct TestRequestHandler {
    log: Mutex<Vec<String>>,
    pub(crate) gate: Notify,
}

impl TestRequestHandler {
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    fn append_log(&self, line: String) {
        self.log.lock().unwrap().push(line);
    }

    async fn run(&self, method: Method, params: Value, client: ClientHandle) -> Result<Value, ErrorObject> {
        match params["do"].as_str() {
            Some("panic") => panic!("on purpose"),
            Some("wait") => self.gate.notified().await,
            Some("pass") => {
                client.release_turn();
                self.gate.notified().await;
            }
            Some("huge") => return Ok("x".repeat(9 << 20).into()),
            Some("flood") => flood(&client),
            Some("replay") => replay(&client),
            Some("refuse") => return Err(ErrorObject { data: Some(json!(7)), ..ErrorObject::bad_params("never") }),
            Some(_) | None => {}
        }
        let tag = params["tag"].as_str().unwrap_or_default().to_owned();
        self.append_log(format!("{} {tag} begins", method.name()));
        // Let other calls that may run do so here.
        tokio::task::yield_now().await;
        self.append_log(format!("{} {tag} ends", method.name()));
        Ok(params)
    }
}

/// Sends the client a few events, and then at once more than its queue holds.
fn flood(client: &ClientHandle) {
    let client = client.clone();
    client.clone().attach(async move {
        let event = |seq: u32| json!({ "seq": seq, "pad": "x".repeat(64 << 10) });
        for seq in 0..10 {
            client.deliver("event", &event(seq)).await.unwrap();
            tokio::task::yield_now().await;
        }
        for seq in 10..REPLAYED_EVENTS {
            if client.notify("event", &event(seq)).is_err() {
                break;
            }
        }
    });
}

/// Sends the client the same number of events, as fast as it reads.
fn replay(client: &ClientHandle) {
    let client = client.clone();
    client.clone().attach(async move {
        for seq in 0..REPLAYED_EVENTS {
            client.deliver("event", &json!({ "seq": seq, "pad": "x".repeat(64 << 10) })).await.unwrap();
        }
    });
}

/// How many events are sent: more than a client's queue holds.
pub(crate) const REPLAYED_EVENTS: u32 = 600;

impl RequestHandler for TestRequestHandler {
    fn call(&self, method: Method, params: Value, client: ClientHandle) -> ResponseFuture<'_> {
        Box::pin(self.run(method, params, client))
    }
}

/// A running server with its own socket.
pub(crate) struct TestRpcServer {
    pub(crate) handler: Arc<TestRequestHandler>,
    pub(crate) token: CancellationToken,
    path: PathBuf,
    tasks: JoinSet<()>,
    _folder: TempDir,
}

impl TestRpcServer {
    pub(crate) async fn start() -> TestRpcServer {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.sock");
        let listener = local::listen(&path, |_| true).await.unwrap();
        let (stage, token) = (Arc::new(TestRequestHandler::default()), CancellationToken::new());
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(Some(listener), bosun_rpc::InProcessConnector::new().1, stage.clone(), token.clone()));
        TestRpcServer { handler: stage, token, path, tasks, _folder: folder }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) async fn client(&self) -> (RpcClient, Notifications) {
        RpcClient::connect(&self.path).await.unwrap()
    }

    pub(crate) async fn raw(&self) -> RawRpcClient {
        let (input, output) = local::connect(&self.path).await.unwrap().into_split();
        RawRpcClient { input: BufReader::new(input).lines(), output }
    }

    pub(crate) async fn stream(&self) -> UnixStream {
        local::connect(&self.path).await.unwrap()
    }

    /// Cancels the server and waits until everything it owned has ended.
    pub(crate) async fn stop(mut self) {
        self.token.cancel();
        within_timeout(self.tasks.join_next()).await.unwrap().unwrap();
        assert!(!self.path.exists(), "the socket is removed");
    }
}

/// A client that writes bytes and reads lines.
pub(crate) struct RawRpcClient {
    input: Lines<BufReader<OwnedReadHalf>>,
    pub(crate) output: OwnedWriteHalf,
}

impl RawRpcClient {
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.output.write_all(bytes).await.unwrap();
    }

    /// Returns the next line as JSON; `None` at the end.
    pub(crate) async fn read(&mut self) -> Option<Value> {
        // A server that closes with unread input resets the stream; that counts as the end.
        let line = within_timeout(self.input.next_line()).await.unwrap_or_default()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    pub(crate) async fn request(&mut self, bytes: &[u8]) -> Value {
        self.write(bytes).await;
        self.read().await.expect("an answer")
    }
}
