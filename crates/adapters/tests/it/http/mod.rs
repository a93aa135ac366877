//! The HTTP adapter without sessions: access, parsing, and hostile clients.

mod document;
mod hostile;
mod refusals;
mod watchers;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use bosun_adapters::http::{AccessToken, HttpLimits, HttpListener, StreamEnd};
use host::Home;
use server::{OpenRefusal, OpenRequest, OpenSessionFuture, SessionHost, SessionOpener};
use tempfile::TempDir;
use testkit::http::Http;
use tokio::sync::oneshot;

/// Opens no sessions.
struct EmptyHttpOpener(Home);

impl SessionOpener for EmptyHttpOpener {
    fn home(&self) -> &Home {
        &self.0
    }

    fn open(&self, _request: OpenRequest) -> OpenSessionFuture<'_> {
        let refusal = OpenRefusal { words: "the house is empty".into(), hint: Some("build it".into()) };
        Box::pin(async move { Err(refusal) })
    }
}

/// An adapter that runs until this is dropped.
struct ServedAdapter {
    http: Http,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _folder: TempDir,
}

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Small size limits, which tests reach with little data.
fn small_limits() -> HttpLimits {
    HttpLimits { max_head_bytes: 8 << 10, max_body_bytes: 64 << 10, ..HttpLimits::default() }
}

/// Short time limits, which an ordinary client meets even on a loaded machine.
fn short_limits() -> HttpLimits {
    let limit = Duration::from_secs(1);
    HttpLimits { head_time: limit, body_time: limit, ..small_limits() }
}

fn serve(limits: HttpLimits) -> ServedAdapter {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path().join("home")).unwrap();
    serve_host(Arc::new(EmptyHttpOpener(home)), limits, folder)
}

/// Serves the sessions of a host; the folder is removed with the server.
fn serve_host(opener: Arc<dyn SessionOpener>, limits: HttpLimits, folder: TempDir) -> ServedAdapter {
    let (end, ended) = oneshot::channel();
    let (url_sender, url) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = HttpListener::bind(0).await.unwrap();
            url_sender.send(listener.url()).unwrap();
            let end = async move {
                drop(ended.await);
                StreamEnd::Complete
            };
            let sessions = SessionHost::new(opener, limits.sessions);
            listener.serve(sessions, AccessToken::new(TOKEN).unwrap(), limits, end).await.unwrap();
        });
    });
    let http = Http::new(&url.recv().unwrap(), TOKEN);
    ServedAdapter { http, end: Some(end), thread: Some(thread), _folder: folder }
}

impl Drop for ServedAdapter {
    fn drop(&mut self) {
        drop(self.end.take());
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}
