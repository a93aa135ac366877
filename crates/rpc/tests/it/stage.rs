//! A server for tests: it echoes, and its methods do what their parameters say.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "only tests are staged here")]

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

/// Nothing here takes this long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Fails a test that hangs.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("this hangs")
}

/// What the server did, in order.
#[derive(Debug, Default)]
pub(crate) struct Stage {
    log: Mutex<Vec<String>>,
    pub(crate) gate: Notify,
}

impl Stage {
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    fn note(&self, line: String) {
        self.log.lock().unwrap().push(line);
    }

    async fn act(&self, method: Method, params: Value, client: ClientHandle) -> Result<Value, ErrorObject> {
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
        self.note(format!("{} {tag} begins", method.name()));
        // Whoever else may run does so here.
        tokio::task::yield_now().await;
        self.note(format!("{} {tag} ends", method.name()));
        Ok(params)
    }
}

/// Tells the client a little, and then at once more than its queue holds.
fn flood(client: &ClientHandle) {
    let client = client.clone();
    client.clone().attach(async move {
        let event = |seq: u32| json!({ "seq": seq, "pad": "x".repeat(64 << 10) });
        for seq in 0..10 {
            client.deliver("event", &event(seq)).await.unwrap();
            tokio::task::yield_now().await;
        }
        for seq in 10..REPLAYED {
            if client.notify("event", &event(seq)).is_err() {
                break;
            }
        }
    });
}

/// Tells the client as much, as fast as it reads.
fn replay(client: &ClientHandle) {
    let client = client.clone();
    client.clone().attach(async move {
        for seq in 0..REPLAYED {
            client.deliver("event", &json!({ "seq": seq, "pad": "x".repeat(64 << 10) })).await.unwrap();
        }
    });
}

/// More than the queue of a client holds.
pub(crate) const REPLAYED: u32 = 600;

impl RequestHandler for Stage {
    fn call(&self, method: Method, params: Value, client: ClientHandle) -> ResponseFuture<'_> {
        Box::pin(self.act(method, params, client))
    }
}

/// A server on a socket of its own.
pub(crate) struct Running {
    pub(crate) stage: Arc<Stage>,
    pub(crate) token: CancellationToken,
    path: PathBuf,
    tasks: JoinSet<()>,
    _folder: TempDir,
}

impl Running {
    pub(crate) async fn start() -> Running {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.sock");
        let listener = local::listen(&path, |_| true).await.unwrap();
        let (stage, token) = (Arc::new(Stage::default()), CancellationToken::new());
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(Some(listener), bosun_rpc::InProcessConnector::new().1, stage.clone(), token.clone()));
        Running { stage, token, path, tasks, _folder: folder }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) async fn client(&self) -> (RpcClient, Notifications) {
        RpcClient::connect(&self.path).await.unwrap()
    }

    pub(crate) async fn raw(&self) -> Raw {
        let (input, output) = local::connect(&self.path).await.unwrap().into_split();
        Raw { input: BufReader::new(input).lines(), output }
    }

    pub(crate) async fn stream(&self) -> UnixStream {
        local::connect(&self.path).await.unwrap()
    }

    /// Cancels the server and waits until everything it owned has ended.
    pub(crate) async fn stop(mut self) {
        self.token.cancel();
        soon(self.tasks.join_next()).await.unwrap().unwrap();
        assert!(!self.path.exists(), "the socket is removed");
    }
}

/// A client that writes bytes and reads lines.
pub(crate) struct Raw {
    input: Lines<BufReader<OwnedReadHalf>>,
    pub(crate) output: OwnedWriteHalf,
}

impl Raw {
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.output.write_all(bytes).await.unwrap();
    }

    /// The next line as JSON; none at the end.
    pub(crate) async fn read(&mut self) -> Option<Value> {
        // A server that closes with bytes of ours unread resets the stream: an end, too.
        let line = soon(self.input.next_line()).await.unwrap_or_default()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    pub(crate) async fn ask(&mut self, bytes: &[u8]) -> Value {
        self.write(bytes).await;
        self.read().await.expect("an answer")
    }
}
