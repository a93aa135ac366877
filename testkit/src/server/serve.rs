//! The running server.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use model::ScriptModel;
use protocol::Usage;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::connection;
use super::ledger::RequestLedger;
use super::{RecordedRequest, ServerSetup};

/// A model server on its own port. Dropping it stops it and closes every connection.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<ServerShared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// State shared by all connections.
#[derive(Debug)]
pub(super) struct ServerShared {
    pub(super) setup: ServerSetup,
    ledger: Mutex<RequestLedger>,
}

impl ServerShared {
    pub(super) fn ledger(&self) -> MutexGuard<'_, RequestLedger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ModelServer {
    /// A setup for a server that plays the script in `text`.
    #[track_caller]
    pub fn script(text: &str) -> ServerSetup {
        ServerSetup::new(ScriptModel::parse(text, "script.yaml").unwrap())
    }

    #[track_caller]
    pub(super) fn start(setup: ServerSetup) -> ModelServer {
        let listener = TcpListener::bind(("127.0.0.1", setup.port)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let ledger = Mutex::new(RequestLedger::new(&setup));
        let shared = Arc::new(ServerShared { setup, ledger });
        let (stop, stopped) = oneshot::channel();
        let for_thread = Arc::clone(&shared);
        let thread = thread::spawn(move || run(listener, for_thread, stopped));
        ModelServer { address, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// Its address without a path, for `ANTHROPIC_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its address with `/v1`, for `OPENAI_BASE_URL`.
    pub fn openai_url(&self) -> String {
        format!("{}/v1", self.url())
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Every request to a model so far, in the order of arrival.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.ledger().seen()
    }

    /// The number of requests to a model.
    pub fn count(&self) -> u64 {
        self.shared.ledger().arrived()
    }

    /// The maximum number of concurrent requests to a model.
    pub fn most_at_once(&self) -> usize {
        self.shared.ledger().most_present()
    }

    /// The total usage reported with completed answers.
    pub fn usage_sent(&self) -> Usage {
        self.shared.ledger().used()
    }

    /// Runs for ever, for a process that is only the server.
    pub fn serve(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        // A server whose thread has ended needs no signal.
        let _sign = self.stop.take().map(|stop| stop.send(()));
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

fn run(listener: TcpListener, shared: Arc<ServerShared>, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(accept(listener, shared, stopped));
}

async fn accept(listener: TcpListener, shared: Arc<ServerShared>, mut stopped: oneshot::Receiver<()>) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stopped => return,
            Ok((socket, _)) = listener.accept() => {
                connections.spawn(connection::serve(socket, Arc::clone(&shared)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}
