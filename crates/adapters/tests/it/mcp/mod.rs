//! The protocol around any MCP provider: the conformance suite, and what it does not cover.

mod conformance;
mod fixture_provider;
mod fixture_tasks;
mod fixture_tools;
mod transports;

use std::sync::Arc;
use std::thread::JoinHandle;

use bosun_adapters::http::{AccessToken, HttpLimits, HttpListener};
use bosun_adapters::mcp::serve_http;
use tokio::sync::oneshot;

use fixture_provider::FixtureProvider;

/// A server of the fixtures that runs until this is dropped.
struct ServedFixtures {
    url: String,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The token of the server.
const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Serves the fixtures over HTTP.
fn serve_fixtures() -> ServedFixtures {
    let (end, ended) = oneshot::channel();
    let (url_sender, url) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = HttpListener::bind(0).await.unwrap();
            url_sender.send(listener.url()).unwrap();
            let (provider, token) = (Arc::new(FixtureProvider::new()), AccessToken::new(TOKEN).unwrap());
            let end = async move { drop(ended.await) };
            serve_http(listener, provider, token, HttpLimits::default(), end).await.unwrap();
        });
    });
    ServedFixtures { url: url.recv().unwrap(), end: Some(end), thread: Some(thread) }
}

impl Drop for ServedFixtures {
    fn drop(&mut self) {
        drop(self.end.take());
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}
