//! Hooks that are URLs.

use std::collections::BTreeMap;
use std::time::Duration;

use hooks::Ruling;
use protocol::{HookAction, HookEvent, HookFailure, HookSpec};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::support::{call, guardian, hook, run_hooks, runner};

/// Starts a server that answers one request with `answer` and returns the request.
async fn server(answer: &'static str) -> (String, oneshot::Receiver<String>, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (request_sender, request_receiver) = oneshot::channel();
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        // The fields of the payload are sorted, and this is the last one.
        while !String::from_utf8_lossy(&request).contains("\"transcript_path\":\"/transcript.jsonl\"}") {
            let mut buffer = [0; 4096];
            let count = stream.read(&mut buffer).await.unwrap();
            request.extend_from_slice(&buffer[..count]);
        }
        request_sender.send(String::from_utf8_lossy(&request).into_owned()).unwrap();
        if answer.is_empty() {
            std::future::pending::<()>().await;
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
    });
    (url, request_receiver, serving)
}

fn post(url: String, failure: HookFailure) -> HookSpec {
    let headers = [("X-Key", "Bearer ${TOKEN}"), ("X-Other", "[$PRIVATE]")];
    let headers: BTreeMap<_, _> = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let action = HookAction::Http { url, headers, allowed_env: vec!["TOKEN".into()] };
    HookSpec { failure, ..hook(HookEvent::PreToolUse, action) }
}

async fn run_hook(answer: &'static str, failure: HookFailure, millis: u64) -> (Ruling, String) {
    let (url, request, _serving) = server(answer).await;
    let folder = tempfile::tempdir().unwrap();
    let spec = HookSpec { timeout_ms: millis, ..post(url, failure) };
    let verdict =
        run_hooks(&runner(guardian(), folder.path()), vec![spec], &call("shell", r#"{"command":"ls"}"#)).await;
    (verdict.ruling, request.await.unwrap())
}

#[tokio::test]
async fn url_hook_is_called_like_a_command() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 29\r\n\r\n{\"permissionDecision\":\"deny\"}";
    let (ruling, request) = run_hook(answer, HookFailure::Open, 20_000).await;
    assert!(matches!(ruling, Ruling::Deny { .. }), "{ruling:?}");
    assert!(request.starts_with("POST /hook HTTP/1.1"), "{request}");
    for part in ["x-key: Bearer t0p\r\n", "x-other: []\r\n", "content-type: application/json", "\"tool_name\":\"Bash\""]
    {
        assert!(request.contains(part), "{part} is not in {request}");
    }
    assert!(!request.contains("pr1"));
}

#[tokio::test]
async fn failed_request_is_a_failed_hook() {
    let moved = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    let failed = "HTTP/1.1 500 Oh\r\ncontent-length: 4\r\n\r\noops";
    for (answer, text) in [(moved, "redirects to"), (failed, "status 500"), ("", "longer than 0.3 s")] {
        let millis = if answer.is_empty() { 300 } else { 20_000 };
        let (ruling, _) = run_hook(answer, HookFailure::Closed, millis).await;
        assert!(matches!(&ruling, Ruling::Deny { reason } if reason.contains(text)), "{ruling:?}");
    }
    let (ruling, _) = run_hook(failed, HookFailure::Open, 20_000).await;
    assert_eq!(ruling, Ruling::Nothing);
}

#[tokio::test]
async fn refused_connection_fails_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let folder = tempfile::tempdir().unwrap();
    let runner = runner(guardian(), folder.path());
    let (specs, data) = (vec![post(url, HookFailure::Closed)], call("shell", "{}"));
    let verdict = tokio::time::timeout(Duration::from_secs(15), run_hooks(&runner, specs, &data));
    assert!(verdict.await.unwrap().denial_reason().unwrap().contains("cannot connect"));
}
