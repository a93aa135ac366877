//! A remote catalogue: requests, cache, and failures.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::thread::JoinHandle;

use config::{RemoteCatalog, RemoteState};
use net::{NetworkRoute, Secret};
use protocol::{DefinitionSource, Timestamp};

use super::{Asked, Machine};

const DEFINITIONS: &str = r#"{"agents": [{"name": "Org Reviewer", "description": "x", "prompt": "y",
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "touch ran"}]}]}}]}"#;

/// A server that answers once and returns the request.
fn server(answer: String) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/agents?org=1", listener.local_addr().unwrap());
    let asked = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut part = [0; 4096];
        while !request.ends_with(b"\r\n\r\n") {
            let read = stream.read(&mut part).unwrap();
            request.extend_from_slice(&part[..read]);
        }
        // A client that has read enough closes the connection.
        let _gone = stream.write_all(answer.as_bytes());
        String::from_utf8(request).unwrap()
    });
    (url, asked)
}

fn http(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn catalog(url: &str, home: PathBuf) -> RemoteCatalog {
    RemoteCatalog {
        url: url.to_owned(),
        token: Some(Secret::new("t-1")),
        repository: Some("https://example.com/a/b.git".into()),
        route: NetworkRoute::default(),
        home,
    }
}

#[tokio::test]
async fn remote_catalogue_is_requested_for_user_and_repository_and_cached() {
    let machine = Machine::new();
    let (url, asked) = server(http("200 OK", DEFINITIONS));
    let remote = catalog(&url, machine.home());
    assert_eq!(remote.cached().state, RemoteState::Unasked { url: url.clone() });
    let answer = remote.fetch(Timestamp(7)).await;
    let request = asked.join().unwrap();
    assert!(request.starts_with("GET /agents?org=1&repository=https%3A%2F%2Fexample.com%2Fa%2Fb.git "), "{request}");
    assert!(request.to_lowercase().contains("authorization: bearer t-1"), "{request}");
    assert_eq!(answer.state, RemoteState::Fresh { url: url.clone() });

    let found = machine.asked(Asked { remote: answer, ..Asked::default() }).unwrap();
    let agent = found.agent("org-reviewer").unwrap();
    assert_eq!((&agent.spec.source, &agent.hooks), (&DefinitionSource::Remote { url: url.clone() }, &None));
    assert!(found.problems[0].message.contains("hooks are ignored"), "{:?}", found.problems);

    // No server listens there any more.
    let down = remote.fetch(Timestamp(9)).await;
    let RemoteState::Cached { fetched_at: Timestamp(7), why: Some(_), .. } = &down.state else { panic!("{down:?}") };
    assert!(machine.asked(Asked { remote: down, ..Asked::default() }).unwrap().agent("org-reviewer").is_some());
    let other = RemoteCatalog { token: Some(Secret::new("t-2")), ..remote };
    assert!(
        matches!(other.fetch(Timestamp(9)).await.state, RemoteState::Down { .. }),
        "one user's answer is no other's"
    );
}

#[tokio::test]
async fn invalid_remote_catalogue_counts_as_unavailable() {
    let machine = Machine::new();
    let cases = [
        (http("200 OK", "<html>"), "not JSON"),
        (http("401 Unauthorized", "{}"), "401; check the token"),
        (http("500 Oops", "{}"), "500"),
        (http("200 OK", &format!("[\"{}\"]", "x".repeat(1 << 20))), "larger than 1048576 bytes"),
        ("HTTP/1.1 302 Found\r\nlocation: http://example.com/\r\ncontent-length: 0\r\n\r\n".into(), "example.com"),
    ];
    for (answer, words) in cases {
        let (url, asked) = server(answer);
        let down = catalog(&url, machine.home()).fetch(Timestamp(1)).await;
        asked.join().unwrap();
        let RemoteState::Down { why, .. } = &down.state else { panic!("{down:?}") };
        assert!(why.contains(words), "{why}");
    }
}

#[tokio::test(start_paused = true)]
async fn silent_remote_catalogue_times_out() {
    let machine = Machine::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let down = catalog(&url, machine.home()).fetch(Timestamp(1)).await;
    assert!(matches!(down.state, RemoteState::Down { .. }), "{down:?}");
}
