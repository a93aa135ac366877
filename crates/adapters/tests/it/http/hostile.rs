//! Clients that send too much, too little, too slowly, or no HTTP.

use std::io::{Read, Write};

use bosun_adapters::http::HttpLimits;

use super::{ServedAdapter, serve, short_limits, small_limits};

/// Asserts that other clients are still served.
#[track_caller]
fn assert_serving(served: &ServedAdapter) {
    served.http.request_ok("GET", "/v1", None);
}

#[test]
fn invalid_http_is_closed() {
    let served = serve(small_limits());
    let not_http = ["\0\0\0\0\r\n\r\n", "GET\r\n\r\n", "hello\n\n", "GET / HTTP/9.9\r\n\r\n", "\r\n\r\n\r\n"];
    let two_lengths = "POST /v1 HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd";
    for bytes in not_http.into_iter().chain([two_lengths]) {
        let answer = served.http.send_raw(bytes);
        assert!(matches!(answer.status, 0 | 400 | 403), "{bytes:?}: {answer:?}");
    }
    assert_serving(&served);
}

#[test]
fn oversized_requests_are_refused_before_they_are_buffered() {
    let served = serve(short_limits());
    let head = served.http.head("POST", "/v1/sessions");
    let long = served.http.send_raw(&format!("{head}X-Long: {}\r\n\r\n", "x".repeat(1 << 20)));
    assert!(matches!(long.status, 0 | 431), "{long:?}");
    let many: String = (0..1000).map(|n| format!("X-{n}: y\r\n")).collect();
    let many = served.http.send_raw(&format!("{head}{many}\r\n"));
    assert!(matches!(many.status, 0 | 431), "{many:?}");
    let body = format!("{{\"prompt\":\"{}\"}}", "x".repeat(1 << 20));
    let big = format!("{head}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    assert!(matches!(served.http.send_raw(&big).status, 0 | 413));
    let lying =
        served.http.send_raw(&format!("{head}Content-Type: application/json\r\nContent-Length: 1099511627776\r\n\r\n"));
    assert!(matches!(lying.status, 408 | 413), "{lying:?}");
    let deep = "[".repeat(20_000);
    let deep = format!("{head}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{deep}", deep.len());
    served.http.send_raw(&deep).problem(400);
    assert_serving(&served);
}

#[test]
fn slow_and_silent_clients_are_closed() {
    let served = serve(HttpLimits { connections: 4, ..short_limits() });
    let mut silent = served.http.connect();
    let mut slow = served.http.connect();
    slow.write_all(b"GET /v1 HTTP/1.1\r\nX-A: ").unwrap();
    let mut bodiless = served.http.connect();
    let head = served.http.head("POST", "/v1/sessions");
    bodiless
        .write_all(format!("{head}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{{").as_bytes())
        .unwrap();
    let mut idle = served.http.connect();
    idle.write_all(served.http.head("GET", "/v1").replace("1.0", "1.1").as_bytes()).unwrap();
    idle.write_all(b"\r\n").unwrap();
    // All slots are taken: the next client waits until the others are disconnected.
    assert_serving(&served);
    for stream in [&mut silent, &mut slow, &mut bodiless, &mut idle] {
        // The connection ends, cleanly or not.
        stream.read_to_end(&mut Vec::new()).ok();
    }
    assert_serving(&served);
}

#[test]
fn requests_without_the_token_have_no_effect() {
    let served = serve(small_limits());
    let address = served.http.address();
    for (verb, path) in [("GET", "/v1/openapi.json"), ("POST", "/v1/sessions"), ("GET", "/nowhere")] {
        let answer = served.http.send_raw(&format!("{verb} {path} HTTP/1.0\r\nHost: {address}\r\n\r\n"));
        answer.problem(401);
        assert!(answer.response_head.to_ascii_lowercase().contains("www-authenticate: bearer"), "{answer:?}");
    }
}

/// Silent connections take only the slots of unauthenticated clients.
#[test]
fn silent_connections_do_not_block_clients() {
    let served = serve(HttpLimits { head_time: std::time::Duration::from_secs(600), ..HttpLimits::default() });
    let mut silent = Vec::new();
    for _ in 0..300 {
        silent.push(served.http.connect());
    }
    for _ in 0..3 {
        assert_serving(&served);
    }
    let mut half = served.http.connect();
    half.write_all(b"GET /v1 HTTP/1.1\r\nX-A: ").unwrap();
    assert_serving(&served);
}

#[test]
fn clients_that_send_no_token_in_time_are_closed() {
    let time = std::time::Duration::from_millis(200);
    let served = serve(HttpLimits { admission_time: time, ..HttpLimits::default() });
    let mut silent = served.http.connect();
    // The connection ends, cleanly or not.
    silent.read_to_end(&mut Vec::new()).ok();
    assert_serving(&served);
}
