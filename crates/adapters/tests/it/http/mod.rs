//! The HTTP adapter without a session behind it: who comes in, what is understood, and what hostile clients get.

mod document;
mod hostile;
mod refusals;
mod watchers;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use bosun_adapters::http::{AccessToken, HttpLimits, HttpListener};
use bosun_adapters::{OpenRefusal, OpenRequest, OpenSessionFuture, SessionHost};
use host::Home;
use tempfile::TempDir;
use testkit::http::Http;
use tokio::sync::oneshot;

/// A house in which no session can be opened.
struct Empty(Home);

impl SessionHost for Empty {
    fn home(&self) -> &Home {
        &self.0
    }

    fn open(&self, _order: OpenRequest) -> OpenSessionFuture<'_> {
        let refusal = OpenRefusal { words: "the house is empty".into(), hint: Some("build it".into()) };
        Box::pin(async move { Err(refusal) })
    }
}

/// An adapter that is served until it is dropped.
struct Served {
    http: Http,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _folder: TempDir,
}

const WORD: &str = "0123456789abcdef0123456789abcdef";

/// Limits that tests need not send much for.
fn tight() -> HttpLimits {
    HttpLimits { head: 8 << 10, body: 64 << 10, ..HttpLimits::default() }
}

/// Limits that tests need not wait long for, and that a client keeps to on a loaded machine too.
fn hasty() -> HttpLimits {
    let moment = Duration::from_secs(1);
    HttpLimits { head_time: moment, body_time: moment, ..tight() }
}

fn serve(limits: HttpLimits) -> Served {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path().join("home")).unwrap();
    serve_house(Arc::new(Empty(home)), limits, folder)
}

/// Serves the sessions of a house; the folder is removed with the server.
fn serve_house(session_host: Arc<dyn SessionHost>, limits: HttpLimits, folder: TempDir) -> Served {
    let (end, ended) = oneshot::channel();
    let (told, url) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = HttpListener::bind(0).await.unwrap();
            told.send(listener.url()).unwrap();
            let end = async move { drop(ended.await) };
            listener.serve(session_host, AccessToken::new(WORD).unwrap(), limits, end).await.unwrap();
        });
    });
    let http = Http::new(&url.recv().unwrap(), WORD);
    Served { http, end: Some(end), thread: Some(thread), _folder: folder }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.end.take());
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}
