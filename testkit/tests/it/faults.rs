//! Every fault, as its bytes.

use std::time::{Duration, Instant};

use bosun_testkit::server::{FaultPlan, ModelServer, ProviderFault, StreamPoint, Unit};
use model::WireFormat;
use protocol::Usage;

use crate::client::{End, Got, WIRES, ask, ask_within, question};
use crate::{WORK, hello};

/// What each wire's client gets when this goes wrong.
fn meet(fault: &ProviderFault) -> Vec<(WireFormat, Got)> {
    let meet = |wire| {
        let server = ModelServer::script(WORK).faults(FaultPlan::always(fault.clone())).start();
        let got = ask(&server, wire, &question(wire, "go"));
        assert_eq!(server.requests().len(), 1);
        let whole = Usage { input: 10, output: 20, cache_read: 300, cache_write: 40 };
        let completed = got.end == End::Complete && got.status == Some(200) && !matches!(fault, ProviderFault::End(_));
        assert_eq!(server.usage_sent(), if completed { whole } else { Usage::default() }, "{fault:?}");
        (wire, got)
    };
    WIRES.into_iter().map(meet).collect()
}

#[test]
fn a_hang_says_nothing() {
    let server = hello().faults(FaultPlan::always(ProviderFault::Hang)).start();
    for wire in WIRES {
        let got = ask_within(&server, wire, &question(wire, "go"), Duration::from_millis(100));
        assert_eq!((got.status, got.end), (None, End::Silent));
    }
}

#[test]
fn a_closed_connection_has_no_status() {
    for (_, got) in meet(&ProviderFault::Close) {
        assert_eq!((got.status, got.end), (None, End::Cut));
    }
}

#[test]
fn statuses_come_with_the_error_of_each_wire() {
    let kinds = |code| {
        let got = meet(&ProviderFault::Status { code, retry_after: None });
        assert!(got.iter().all(|(_, got)| got.status == Some(code) && got.header("retry-after").is_none()), "{got:?}");
        got.iter().map(|(_, got)| got.json()["error"]["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(401), ["authentication_error", "invalid_request_error", "invalid_request_error"]);
    assert_eq!(kinds(429), ["rate_limit_error", "requests", "requests"]);
    assert_eq!(kinds(500), ["api_error", "server_error", "server_error"]);
    assert_eq!(kinds(503), ["api_error", "server_error", "server_error"]);
    assert_eq!(kinds(529), ["overloaded_error", "server_error", "server_error"]);
}

#[test]
fn a_time_to_try_again_is_in_whole_seconds_and_in_milliseconds() {
    for (_, got) in meet(&ProviderFault::Status { code: 429, retry_after: Some(Duration::from_millis(1500)) }) {
        assert_eq!((got.header("retry-after"), got.header("retry-after-ms")), (Some("2"), Some("1500")));
    }
}

#[test]
fn a_quota_names_the_moment_of_its_reset() {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    for (wire, got) in meet(&ProviderFault::Quota(Duration::from_secs(90))) {
        assert_eq!(got.status, Some(429));
        let resets_at = match wire {
            WireFormat::Anthropic => {
                assert_eq!(got.header("anthropic-ratelimit-unified-status"), Some("rejected"));
                got.header("anthropic-ratelimit-unified-reset").unwrap().parse().unwrap()
            }
            WireFormat::Responses | WireFormat::Chat => {
                assert_eq!(got.json()["error"]["type"], "usage_limit_reached");
                got.json()["error"]["resets_at"].as_u64().unwrap()
            }
        };
        assert!((now + 90..now + 95).contains(&resets_at), "{resets_at}");
    }
}

#[test]
fn something_in_between_answers_in_html() {
    for (_, got) in meet(&ProviderFault::Html) {
        assert_eq!((got.status, got.header("content-type")), (Some(502), Some("text/html")));
        assert!(got.body.starts_with("<html>"));
    }
}

#[test]
fn a_conversation_that_is_too_long_says_so() {
    for (wire, got) in meet(&ProviderFault::TooLong) {
        assert_eq!(got.status, Some(400));
        match wire {
            WireFormat::Anthropic => assert!(got.message().starts_with("prompt is too long"), "{got:?}"),
            WireFormat::Responses | WireFormat::Chat => {
                assert_eq!(got.json()["error"]["code"], "context_length_exceeded")
            }
        }
    }
}

#[test]
fn a_stream_is_cut_at_any_byte() {
    let whole: Vec<String> = meet(&ProviderFault::Model("m".into())).into_iter().map(|(_, got)| got.body).collect();
    for bytes in [0, 1, 100, 500, 1000] {
        for ((_, got), whole) in meet(&ProviderFault::Cut(StreamPoint::Bytes(bytes))).into_iter().zip(&whole) {
            assert_eq!((got.status, got.end, got.body.len()), (Some(200), End::Cut, bytes));
            // The model's name differs, and comes late on one wire.
            assert_eq!(got.body[..bytes.min(30)], whole[..bytes.min(30)]);
        }
    }
}

#[test]
fn a_stream_is_cut_after_any_event_and_right_after_a_call() {
    for (_, got) in meet(&ProviderFault::Cut(StreamPoint::Events(3))) {
        assert_eq!((got.end, got.events().len()), (End::Cut, 3));
    }
    for (wire, got) in meet(&ProviderFault::Cut(StreamPoint::Call)) {
        assert_eq!(got.end, End::Cut, "{wire:?}");
        let last = got.events().pop().unwrap();
        match wire {
            WireFormat::Anthropic => assert_eq!(last["type"], "content_block_stop"),
            WireFormat::Responses => assert_eq!(last["item"]["arguments"], r#"{"path":"a.txt"}"#),
            WireFormat::Chat => assert!(last.pointer("/choices/0/delta/tool_calls").is_some(), "{last}"),
        }
    }
}

#[test]
fn a_stream_that_ends_early_looks_complete_to_http() {
    for (_, got) in meet(&ProviderFault::End(StreamPoint::Bytes(0))) {
        assert_eq!((got.status, got.end, &*got.body), (Some(200), End::Complete, ""));
    }
    for (_, got) in meet(&ProviderFault::End(StreamPoint::Events(3))) {
        assert_eq!((got.end, got.events().len()), (End::Complete, 3));
    }
}

#[test]
fn malformed_events_are_malformed_in_one_place() {
    for (_, got) in meet(&ProviderFault::BadJson) {
        let data: Vec<&str> = got.body.lines().filter_map(|line| line.strip_prefix("data: {")).collect();
        let torn = |data: &&str| serde_json::from_str::<serde_json::Value>(&format!("{{{data}")).is_err();
        assert_eq!(data.iter().filter(|data| torn(data)).count(), 1);
        assert!(torn(&data[2]), "{}", data[2]);
    }
    for ((_, bad), (_, good)) in
        meet(&ProviderFault::BadSse).iter().zip(meet(&ProviderFault::Model("test-model".into())))
    {
        let events = |body: &str| body.split("\n\n").count();
        assert_eq!(events(&bad.body), events(&good.body) - 1);
    }
}

#[test]
fn another_model_answers() {
    for (_, got) in meet(&ProviderFault::Model("other".into())) {
        assert!(got.body.contains(r#""model":"other""#) && !got.body.contains("test-model"), "{}", got.body);
    }
}

#[test]
fn an_answer_drips() {
    let every = Duration::from_millis(1);
    for unit in [Unit::Byte, Unit::Event] {
        let server = hello().faults(FaultPlan::always(ProviderFault::Drip { unit, every })).start();
        let began = Instant::now();
        let got = ask(&server, WireFormat::Chat, &question(WireFormat::Chat, "go"));
        let pieces = match unit {
            Unit::Byte => got.body.len(),
            Unit::Event => got.events().len() + 1,
        };
        assert_eq!(got.end, End::Complete);
        assert!(began.elapsed() >= every * u32::try_from(pieces).unwrap(), "{unit:?}: {:?}", began.elapsed());
    }
}

#[test]
fn an_endless_answer_goes_on_for_as_long_as_it_is_read() {
    for fault in [ProviderFault::Endless, ProviderFault::EndlessLine] {
        for (_, got) in meet(&fault) {
            assert_eq!((got.status, got.end), (Some(200), End::Cut));
            assert!(got.body.len() > 900_000, "{}", got.body.len());
        }
    }
}

#[test]
fn a_server_that_is_dropped_takes_hanging_connections_with_it() {
    let server = hello().faults(FaultPlan::always(ProviderFault::Hang)).start();
    let mut socket = std::net::TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let head = "POST /v1/messages HTTP/1.1\r\ncontent-length: 0\r\n\r\n";
    std::io::Write::write_all(&mut socket, head.as_bytes()).unwrap();
    bosun_testkit::binary::within(Duration::from_secs(10), "the request arrives", || server.count() == 1);
    drop(server);
    let mut rest = Vec::new();
    // A reset is as good an end.
    let _end = std::io::Read::read_to_end(&mut socket, &mut rest);
    assert!(rest.is_empty());
}
