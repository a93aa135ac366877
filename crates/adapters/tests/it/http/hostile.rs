//! Clients that say too much, too little, too slowly, or nothing that is HTTP.

use std::io::{Read, Write};

use bosun_adapters::http::HttpLimits;

use super::{Served, hasty, serve, tight};

/// Others are served as if nothing had happened.
#[track_caller]
fn assert_well(served: &Served) {
    served.http.done("GET", "/v1", None);
}

#[test]
fn what_is_not_http_is_closed() {
    let served = serve(tight());
    let nothing_like_it = ["\0\0\0\0\r\n\r\n", "GET\r\n\r\n", "hello\n\n", "GET / HTTP/9.9\r\n\r\n", "\r\n\r\n\r\n"];
    let twice = "POST /v1 HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd";
    for bytes in nothing_like_it.into_iter().chain([twice]) {
        let answer = served.http.say(bytes);
        assert!(matches!(answer.status, 0 | 400 | 403), "{bytes:?}: {answer:?}");
    }
    assert_well(&served);
}

#[test]
fn too_much_is_refused_before_it_is_kept() {
    let served = serve(hasty());
    let head = served.http.head("POST", "/v1/sessions");
    let long = served.http.say(&format!("{head}X-Long: {}\r\n\r\n", "x".repeat(1 << 20)));
    assert!(matches!(long.status, 0 | 431), "{long:?}");
    let many: String = (0..1000).map(|n| format!("X-{n}: y\r\n")).collect();
    let many = served.http.say(&format!("{head}{many}\r\n"));
    assert!(matches!(many.status, 0 | 431), "{many:?}");
    let body = format!("{{\"prompt\":\"{}\"}}", "x".repeat(1 << 20));
    let big = format!("{head}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    assert!(matches!(served.http.say(&big).status, 0 | 413));
    let lying =
        served.http.say(&format!("{head}Content-Type: application/json\r\nContent-Length: 1099511627776\r\n\r\n"));
    assert!(matches!(lying.status, 408 | 413), "{lying:?}");
    let deep = "[".repeat(20_000);
    let deep = format!("{head}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{deep}", deep.len());
    served.http.say(&deep).problem(400);
    assert_well(&served);
}

#[test]
fn who_sends_slowly_or_nothing_is_closed() {
    let served = serve(HttpLimits { connections: 4, ..hasty() });
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
    // All places are taken: whoever comes now waits until the others are sent away.
    assert_well(&served);
    for stream in [&mut silent, &mut slow, &mut bodiless, &mut idle] {
        // It ends, however it ends.
        stream.read_to_end(&mut Vec::new()).ok();
    }
    assert_well(&served);
}

#[test]
fn without_the_token_nothing_is_told_and_nothing_is_done() {
    let served = serve(tight());
    let address = served.http.address();
    for (verb, path) in [("GET", "/v1/openapi.json"), ("POST", "/v1/sessions"), ("GET", "/nowhere")] {
        let answer = served.http.say(&format!("{verb} {path} HTTP/1.0\r\nHost: {address}\r\n\r\n"));
        answer.problem(401);
        assert!(answer.head.to_ascii_lowercase().contains("www-authenticate: bearer"), "{answer:?}");
    }
}

/// Connections that say nothing take the places of strangers, and nobody else's.
#[test]
fn silent_connections_keep_nobody_out() {
    let served = serve(HttpLimits { head_time: std::time::Duration::from_secs(600), ..HttpLimits::default() });
    let mut silent = Vec::new();
    for _ in 0..300 {
        silent.push(served.http.connect());
    }
    for _ in 0..3 {
        assert_well(&served);
    }
    let mut half = served.http.connect();
    half.write_all(b"GET /v1 HTTP/1.1\r\nX-A: ").unwrap();
    assert_well(&served);
}

#[test]
fn who_does_not_show_the_token_in_time_is_closed() {
    let time = std::time::Duration::from_millis(200);
    let served = serve(HttpLimits { admission_time: time, ..HttpLimits::default() });
    let mut silent = served.http.connect();
    // It ends, however it ends.
    silent.read_to_end(&mut Vec::new()).ok();
    assert_well(&served);
}
