//! Many watchers of one session.

use std::sync::Arc;

use bosun_adapters::http::HttpLimits;
use host::Home;
use serde_json::json;
use server::{OpenRefusal, OpenRequest, OpenSessionFuture, SessionOpener};
use testkit::http::SseEvent;
use testkit::session::{SessionFixture, scenario};

use super::serve_host;

/// Opens the sessions of one fixture.
struct FixtureOpener(SessionFixture);

impl SessionOpener for FixtureOpener {
    fn home(&self) -> &Home {
        self.0.home()
    }

    fn open(&self, request: OpenRequest) -> OpenSessionFuture<'_> {
        Box::pin(async move {
            let opened = self.0.open_as_adapter(request.start, request.id, request.client_extensions).await;
            opened.map_err(|error| OpenRefusal { words: error.to_string(), hint: None })
        })
    }
}

const SCRIPT: &str = "
version: 1
rules:
  - when: { turn: '1..60' }
    answer: [ { call: { tool: report_intent, input: { intent: 'turn ${turn}' } } } ]
  - answer: [ { say: 'Done.' } ]
";

fn event_ids(events: &[SseEvent]) -> Vec<u64> {
    events.iter().filter_map(|event| event.id).collect()
}

#[test]
fn every_watcher_sees_every_event_once_even_if_others_do_not_read() {
    let fixture = scenario().script(SCRIPT).ready();
    let served = serve_host(Arc::new(FixtureOpener(fixture)), HttpLimits::default(), tempfile::tempdir().unwrap());
    let session = served.http.request_ok("POST", "/v1/sessions", Some(json!({ "cwd": "/" })));
    let path = format!("/v1/sessions/{}", session["id"].as_str().unwrap());
    let mut watchers: Vec<_> = (0..24).map(|_| served.http.watch(&format!("{path}/events"), None)).collect();
    // These never read, and their receive buffers are soon full.
    let _non_readers: Vec<_> =
        (0..24).map(|_| served.http.with_tiny_buffer().watch(&format!("{path}/events"), None)).collect();
    served.http.request_ok("POST", &format!("{path}/messages"), Some(json!({ "text": "go" })));
    let is_over = |event: &SseEvent| {
        event.name == "status" && event.data["quiet"] == true && event.data["seq"].as_u64() > Some(120)
    };
    let first = event_ids(&watchers[0].until(is_over));
    assert!(first.iter().enumerate().all(|(n, seq)| *seq == n as u64 + 1), "{first:?}");
    for watcher in &mut watchers[1..] {
        assert_eq!(event_ids(&watcher.until(is_over)), first);
    }
    let mut late = served.http.watch(&format!("{path}/events"), Some(100));
    assert_eq!(event_ids(&late.until(is_over)), first[100..]);
}
