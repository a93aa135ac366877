//! What the server allows, remembers and counts.

#![expect(clippy::disallowed_methods, reason = "the server is a process here, which the test starts")]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bosun_testkit::binary::within;
use bosun_testkit::server::{FaultPlan, Hint, ModelServer, RequestRetention};
use model::WireFormat;
use protocol::Usage;
use serde_json::Value;

use crate::client::{WIRES, ask, ask_within, question};
use crate::{HELLO, hello};

#[test]
fn every_request_is_remembered_with_its_answer() {
    let server = hello().faults("2=status:503,3=cut:events:2,4=close".parse().unwrap()).start();
    let before = Instant::now();
    for wire in WIRES.into_iter().chain([WireFormat::Chat]) {
        ask(&server, wire, &question(wire, "go"));
    }
    let used = Usage { input: 7, output: 3, ..Usage::default() };
    let seen = server.requests();
    let told: Vec<_> = seen.iter().map(|seen| (seen.number, seen.wire, seen.status, seen.usage)).collect();
    assert_eq!(
        told,
        [
            (1, WireFormat::Anthropic, Some(200), Some(used)),
            (2, WireFormat::Responses, Some(503), None),
            (3, WireFormat::Chat, Some(200), None),
            (4, WireFormat::Chat, None, None),
        ]
    );
    assert_eq!(server.usage_sent(), used);
    assert_eq!(seen[0].json(), question(WireFormat::Anthropic, "go"));
    assert_eq!((seen[0].header("x-api-key"), seen[1].header("authorization")), (Some("k"), Some("Bearer k")));
    assert!(seen.iter().map(|seen| seen.at).is_sorted_by(|a, b| *a >= before && a <= b));
}

#[test]
fn more_requests_than_allowed_are_refused_and_told_when() {
    for (hint, told) in [(Hint::RetryAfter, Some("1")), (Hint::Silent, None)] {
        let server = hello().allow(3, hint).start();
        let got: Vec<_> = (0..5).map(|_| ask(&server, WireFormat::Chat, &question(WireFormat::Chat, "go"))).collect();
        let refused: Vec<_> = got.iter().filter(|got| got.status == Some(429)).collect();
        assert!(!refused.is_empty() && refused.len() <= 2, "{}", refused.len());
        assert!(refused.iter().all(|got| got.header("retry-after") == told), "{refused:?}");
    }
}

#[test]
fn an_answer_takes_as_long_as_it_is_told_to() {
    let server = hello().latency(Duration::from_millis(30)).start();
    let began = Instant::now();
    ask(&server, WireFormat::Chat, &question(WireFormat::Chat, "go"));
    assert!(began.elapsed() >= Duration::from_millis(30));
}

#[test]
fn requests_under_way_at_once_are_counted() {
    let server = hello().faults("4..=hang".parse().unwrap()).start();
    for wire in WIRES {
        ask(&server, wire, &question(wire, "go"));
    }
    assert_eq!(server.most_at_once(), 1);
    std::thread::scope(|scope| {
        for wire in WIRES {
            let server = &server;
            scope.spawn(move || ask_within(server, wire, &question(wire, "go"), Duration::from_secs(2)));
        }
        within(Duration::from_secs(30), "all are under way", || server.most_at_once() == 3);
    });
}

#[test]
fn a_conversation_past_the_context_is_refused() {
    let server = hello().context(100).start();
    for wire in WIRES {
        assert_eq!(ask(&server, wire, &question(wire, "short")).status, Some(200));
        assert_eq!(ask(&server, wire, &question(wire, &"long".repeat(100))).status, Some(400));
    }
}

#[test]
fn a_question_that_failed_is_another_attempt_when_it_comes_again() {
    let script = "
version: 1
rules:
  - { when: { attempt: 1 }, fail: { class: transient } }
  - { when: { attempt: 2 }, answer: [{ say: I was about }, { fail: { class: transient } }] }
  - { when: { attempt: 3 }, fail: { class: retry-after, after: 1500ms } }
  - { answer: [{ say: Here I am. }] }
";
    for wire in WIRES {
        let server = ModelServer::script(script).start();
        let statuses = [(); 4].map(|()| ask(&server, wire, &question(wire, "go")).status);
        assert_eq!(statuses, [Some(500), Some(200), Some(429), Some(200)]);
        assert_eq!(ask(&server, wire, &question(wire, "another")).status, Some(500));
    }
}

#[test]
fn a_server_may_remember_totals_alone() {
    let server = hello().keep(RequestRetention::Totals).faults(FaultPlan::none()).start();
    ask(&server, WireFormat::Chat, &question(WireFormat::Chat, "go"));
    assert!(server.requests().is_empty());
    assert_eq!((server.count(), server.usage_sent().output), (1, 3));
}

#[test]
fn the_server_runs_as_a_process_with_every_setting_as_a_flag() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("hello.yaml");
    std::fs::write(&script, HELLO).unwrap();
    let flags = "--port 0 --rate 100 --latency 1ms --context 1000 --key k --models a,b --wire-faults 2=status:529";
    let mut server = Command::new(env!("CARGO_BIN_EXE_model-server"))
        .arg("--script")
        .arg(&script)
        .args(flags.split(' '))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.strip_prefix("listening on http://").unwrap().trim();
    let statuses = [(); 2].map(|()| status(address, &question(WireFormat::Chat, "go")));
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(statuses, ["HTTP/1.1 200 OK", "HTTP/1.1 529 Other"]);
}

fn status(address: &str, body: &Value) -> String {
    let mut socket = std::net::TcpStream::connect(address).unwrap();
    let body = body.to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nauthorization: Bearer k\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    std::io::Write::write_all(&mut socket, format!("{head}{body}").as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(socket).read_line(&mut line).unwrap();
    line.trim().to_owned()
}

#[test]
fn a_wrong_flag_is_named() {
    let run = |flags: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_model-server")).args(flags).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(run(&[]).starts_with("model-server: --script is missing"));
    assert!(run(&["--script"]).starts_with("model-server: --script needs a value"));
    assert!(run(&["--script", "/nowhere.yaml"]).contains("/nowhere.yaml"));
}
