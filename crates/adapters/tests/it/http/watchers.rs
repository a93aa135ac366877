//! Many watchers of one session.

use std::sync::Arc;

use bosun_adapters::http::HttpLimits;
use bosun_adapters::{OpenRefusal, OpenRequest, OpenSessionFuture, SessionHost};
use host::Home;
use serde_json::json;
use testkit::http::SseEvent;
use testkit::session::{SessionFixture, scenario};

use super::serve_house;

/// A house whose sessions are all of one stage.
struct Furnished(SessionFixture);

impl SessionHost for Furnished {
    fn home(&self) -> &Home {
        self.0.home()
    }

    fn open(&self, order: OpenRequest) -> OpenSessionFuture<'_> {
        Box::pin(async move {
            let opened = self.0.open_as_adapter(order.start, order.id, order.client_extensions).await;
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

fn durable(told: &[SseEvent]) -> Vec<u64> {
    told.iter().filter_map(|told| told.id).collect()
}

#[test]
fn every_watcher_sees_every_event_once_and_one_that_reads_nothing_holds_up_nobody() {
    let stage = scenario().script(SCRIPT).ready();
    let served = serve_house(Arc::new(Furnished(stage)), HttpLimits::default(), tempfile::tempdir().unwrap());
    let begun = served.http.done("POST", "/v1/sessions", Some(json!({ "cwd": "/" })));
    let path = format!("/v1/sessions/{}", begun["id"].as_str().unwrap());
    let mut watchers: Vec<_> = (0..24).map(|_| served.http.watch(&format!("{path}/events"), None)).collect();
    let _silent: Vec<_> = (0..24).map(|_| served.http.narrow().watch(&format!("{path}/events"), None)).collect();
    served.http.done("POST", &format!("{path}/messages"), Some(json!({ "text": "go" })));
    let is_over =
        |told: &SseEvent| told.name == "status" && told.data["quiet"] == true && told.data["seq"].as_u64() > Some(120);
    let first = durable(&watchers[0].until(is_over));
    assert!(first.iter().enumerate().all(|(n, seq)| *seq == n as u64 + 1), "{first:?}");
    for watcher in &mut watchers[1..] {
        assert_eq!(durable(&watcher.until(is_over)), first);
    }
    let mut late = served.http.watch(&format!("{path}/events"), Some(100));
    assert_eq!(durable(&late.until(is_over)), first[100..]);
}
