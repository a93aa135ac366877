//! Failures at a provider, and their classification.

use std::time::Duration;

use bosun_model::WireFormat::{self, Anthropic, Chat, Responses};
use bosun_model::{Delta, ModelError, ModelReply};
use net::HttpTimeouts;
use protocol::ModelFault::{self, Auth, Overloaded, QuotaUntil, RetryAfter, Terminal, TooLong, Transient};
use protocol::{StopReason, Timestamp};

use super::server::{Act, KEY, PATIENT, Server, WIRES, answer, deltas, events, http, recorded};
use crate::conversation::prompt;

async fn error_of(wire: WireFormat, act: Act) -> ModelError {
    error_within(PATIENT, wire, act).await
}

async fn error_within(patience: HttpTimeouts, wire: WireFormat, act: Act) -> ModelError {
    let server = Server::start(act).await;
    let model = server.model_with(wire, "m", patience);
    ModelReply::collect(model.send(prompt("go"))).await.unwrap_err()
}

async fn status(status: u16, headers: &str, body: &str) -> ModelError {
    let error = error_of(Chat, Act::Send(http(status, headers, body))).await;
    assert!(!error.has_started, "nothing was begun before a good status");
    error
}

const OVERLONG: &str =
    r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#;
const LIMIT: &str = r#"{"error":{"type":"usage_limit_reached","message":"used up","resets_at":1000}}"#;
const QUOTA: &str = r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#;

#[tokio::test]
async fn every_status_has_its_class() {
    let error = r#"{"error":{"type":"x","message":"words"}}"#;
    let rejected = "anthropic-ratelimit-unified-status: rejected\r\nanthropic-ratelimit-unified-reset: 60\r\n";
    let code = r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#;
    let table: [(u16, &str, &str, ModelFault); 28] = [
        (400, "", error, Terminal),
        (400, "", OVERLONG, TooLong),
        (400, "", code, TooLong),
        (400, "", r#"{"error":{"message":"the request exceeds the available context size"}}"#, TooLong),
        (400, "", "This model's maximum context length is 8192 tokens", TooLong),
        (400, "", r#"{"error":{"message":"Your credit balance is too low"}}"#, Terminal),
        (401, "", error, Auth),
        (402, "", error, Terminal),
        (403, "", error, Auth),
        (404, "", error, Terminal),
        (408, "", error, Transient),
        (409, "", error, Transient),
        (413, "", error, Terminal),
        (422, "", error, Terminal),
        (429, "", error, RetryAfter { millis: 0 }),
        (429, "retry-after: 2\r\n", error, RetryAfter { millis: 2000 }),
        (429, "retry-after: 2\r\nretry-after-ms: 30\r\n", error, RetryAfter { millis: 30 }),
        (429, "retry-after: Thu, 01 Jan 1970 00:00:09 GMT\r\n", error, RetryAfter { millis: 8000 }),
        (429, rejected, error, QuotaUntil { until_at: Timestamp(60_000) }),
        (429, "", LIMIT, QuotaUntil { until_at: Timestamp(1_000_000) }),
        (429, "", r#"{"error":{"resets_in_seconds":5}}"#, QuotaUntil { until_at: Timestamp(6_000) }),
        (429, "", QUOTA, Terminal),
        (429, "retry-after: Fri, 31 Dec 9999 00:00:00 GMT\r\n", error, RetryAfter { millis: 2_592_000_000 }),
        (500, "", "<html>oops</html>", Overloaded),
        (502, "", "", Overloaded),
        (503, "retry-after: 3\r\n", error, RetryAfter { millis: 3000 }),
        (529, "", r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Overloaded),
        (302, "location: http://127.0.0.1:1/\r\n", "", Terminal),
    ];
    for (number, headers, body, fault) in table {
        let error = status(number, headers, body).await;
        assert_eq!(error.fault, fault, "{number} {headers:?} {body}: {error}");
    }
}

#[tokio::test]
async fn error_messages_name_provider_model_and_remedy() {
    let error = status(404, "", r#"{"error":{"message":"no such model"}}"#).await;
    assert_eq!(error.message, "test answered 404 for m: no such model");
    assert_eq!(error.hint.as_deref(), Some("`bosun models` lists the known models"));
    let error = status(401, "", "").await;
    assert_eq!(error.message, "test answered 401 for m, without a message");
    assert_eq!(error.hint.as_deref(), Some("check the key in TEST_API_KEY"));
    let error = status(429, "", QUOTA).await;
    assert_eq!(error.hint.as_deref(), Some("add credit at the provider, or choose another model"));
}

#[tokio::test]
async fn a_page_is_shown_clipped_and_without_control_characters() {
    let page = format!("<html>\n\u{1b}[31m{}</html>", "x".repeat(5000));
    let error = status(500, "content-type: text/html\r\n", &page).await;
    assert!(error.message.starts_with("test answered 500 for m: <html> [31mxxx") && error.message.ends_with("x…"));
    assert!(error.message.chars().count() < 340 && !error.message.contains(char::is_control), "{error}");
}

#[tokio::test]
async fn echoed_key_is_not_shown() {
    let echo = format!("{}bad header: Bearer {KEY}", "x".repeat(280));
    let stream = format!("data: {{\"error\":{{\"message\":\"key {KEY}\"}}}}\n\n");
    for act in [
        http(401, "", &echo),
        http(500, "", &format!("{{\"error\":{{\"message\":\"{echo}\"}}}}")),
        http(307, &format!("location: https://elsewhere/?key={KEY}\r\n"), ""),
        http(200, &format!("content-type: text/html; {KEY}\r\n"), &echo),
        http(200, "content-type: application/json\r\n", &format!("{{\"error\":{{\"message\":\"{echo}\"}}}}")),
        events(&stream),
        events(&format!("data: {KEY}\n\n")),
    ] {
        for wire in WIRES {
            let error = error_of(wire, Act::Send(act.clone())).await;
            let shown = format!("{error:?} {error}");
            assert!(!shown.contains("secret") && !shown.contains("sk-very"), "{shown}");
        }
    }
}

#[tokio::test]
async fn error_in_an_answer_has_its_class_and_counts_as_started() {
    let anthropic = |kind: &str| {
        format!(
            "event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"{kind}\",\"message\":\"words\"}}}}\n\n"
        )
    };
    let failed = |code: &str| {
        format!(
            "data: {{\"type\":\"response.failed\",\"response\":{{\"error\":{{\"code\":\"{code}\",\"message\":\"words\"}}}}}}\n\n"
        )
    };
    let flat = |code: &str| format!("data: {{\"type\":\"error\",\"code\":\"{code}\",\"message\":\"words\"}}\n\n");
    let chat = |code: &str| format!("data: {{\"error\":{{\"code\":{code},\"message\":\"words\"}}}}\n\n");
    for (wire, body, fault) in [
        (Anthropic, anthropic("overloaded_error"), Overloaded),
        (Anthropic, anthropic("api_error"), Transient),
        (Anthropic, anthropic("rate_limit_error"), RetryAfter { millis: 0 }),
        (Anthropic, anthropic("authentication_error"), Auth),
        (Anthropic, anthropic("invalid_request_error"), Terminal),
        (Anthropic, anthropic("billing_error"), Terminal),
        (Responses, failed("server_error"), Transient),
        (Responses, failed("rate_limit_exceeded"), RetryAfter { millis: 0 }),
        (Responses, failed("context_length_exceeded"), TooLong),
        (Responses, failed("invalid_prompt"), Terminal),
        (Responses, flat("server_error"), Transient),
        (Responses, flat("insufficient_quota"), Terminal),
        (Chat, chat("502"), Overloaded),
        (Chat, chat("429"), RetryAfter { millis: 0 }),
        (Chat, chat("\"invalid_api_key\""), Auth),
        (Chat, chat("\"401\""), Auth),
        (Chat, chat("null"), Transient),
        (Chat, "data: {\"object\":\"error\",\"message\":\"words\",\"code\":400}\n\ndata: [DONE]\n\n".into(), Terminal),
    ] {
        let error = answer(wire, &body).await.unwrap_err();
        assert_eq!((error.fault, error.has_started), (fault, true), "{body}");
        assert!(error.message.ends_with("for m: words") || error.message.ends_with("for asked: words"), "{error}");
    }
}

#[tokio::test]
async fn malformed_answers_are_retryable() {
    for wire in WIRES {
        for body in
            ["data: {\n\n", "data: [1]\n\n", "data: {\"type\":\"message_start\",\"message\":7}\n\n", "", "hello"]
        {
            let Err(error) = answer(wire, body).await else { panic!("{wire:?} accepts {body}") };
            assert_eq!((error.fault, error.has_started), (Transient, true), "{wire:?} {body}: {error}");
        }
    }
}

#[tokio::test]
async fn answer_without_its_end_marker_counts_as_cut() {
    for wire in WIRES {
        let whole = recorded(wire);
        let ends = whole.match_indices("\n\n").map(|(at, _)| at + 2);
        for at in ends {
            match answer(wire, &whole[..at]).await {
                Ok(reply) => assert!(whole.len() - at < 400 && reply.stop == StopReason::Calls, "{wire:?} at {at}"),
                Err(error) => {
                    assert_eq!((error.fault, error.has_started), (Transient, true), "{wire:?} at {at}: {error}")
                }
            }
        }
    }
}

#[tokio::test]
async fn lost_and_silent_connections_are_retryable() {
    for wire in WIRES {
        let begun = events(recorded(wire));
        let half = &begun[..begun.len() / 2];
        let head = half.split_once("\r\n\r\n").unwrap().0.to_owned() + "\r\n\r\n";
        let soon = Duration::from_millis(50);
        let impatient = HttpTimeouts { first_byte: soon, ..PATIENT };
        for (act, patience, is_begun, words) in [
            (Act::Send(half.into()), PATIENT, true, "was lost"),
            (Act::Hang(half.into()), HttpTimeouts { idle: soon, ..PATIENT }, true, "sent nothing for"),
            (Act::Send(String::new()), PATIENT, false, "was lost"),
            (Act::Hang(String::new()), impatient, true, "sent nothing"),
            (Act::Hang(head), impatient, true, "sent nothing"),
        ] {
            let error = error_within(patience, wire, act).await;
            assert_eq!((error.fault, error.has_started), (Transient, is_begun), "{error}");
            assert!(error.message.contains(words), "{error}");
        }
    }
}

#[tokio::test]
async fn endless_error_body_is_read_partly() {
    let body = r#"HTTP/1.1 401 X#content-length: 9999##{"error":{"message":"words"}}"#.replace('#', "\r\n");
    let patience = HttpTimeouts { idle: Duration::from_millis(50), ..PATIENT };
    for act in [Act::Hang(body.clone()), Act::Send(body)] {
        let error = error_within(patience, Chat, act).await;
        assert_eq!(error.message, "test answered 401 for m: words");
        assert_eq!((error.fault, error.has_started), (Auth, false));
    }
}

#[tokio::test]
async fn success_with_an_unexpected_body_is_explained() {
    let page = http(200, "content-type: text/html\r\n", "<html>");
    let error = error_of(Responses, Act::Send(page)).await;
    assert_eq!(error.message, "test answered with text/html, not with a stream of events");
    assert_eq!((error.fault, error.has_started), (Terminal, true));
    assert!(error.hint.unwrap().starts_with("check the address http://127.0.0.1:"));
    let json = http(200, "content-type: application/json\r\n", r#"{"error":{"type":"overloaded_error"}}"#);
    assert_eq!(error_of(Anthropic, Act::Send(json)).await.fault, Overloaded);
}

#[tokio::test]
async fn endless_event_is_refused() {
    let flood = events(&format!("data: {}", "x".repeat(17 << 20)));
    let error = error_of(Chat, Act::Send(flood)).await;
    assert_eq!(error.message, "the answer of m is larger than 16777216 bytes");
    assert_eq!((error.fault, error.has_started), (Terminal, true));
}

#[tokio::test]
async fn parts_before_an_error_are_passed_on_first() {
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\ndata: {\"error\":\"words\"}\n\n";
    let sent = deltas(Chat, &events(body), prompt("go")).await;
    assert_eq!(sent[0], Ok(Delta::Text("half".into())));
    assert!(sent.len() == 2 && sent[1].as_ref().is_err_and(|error| error.has_started), "{sent:?}");
}
