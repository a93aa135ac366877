//! GitHub accounts that clients bring.

use serde_json::{Value, json};
use testkit::session::scenario;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::client::CopilotTestClient;

const ECHO: &str = "
version: 1
rules:
  - answer: [{ say: 'You said: ${prompt}' }]
";

/// A GitHub that knows one token. Dropping the set ends it.
async fn start_github() -> (String, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 16 << 10];
            let length = stream.read(&mut request).await.unwrap();
            let request = String::from_utf8_lossy(&request[..length]).to_ascii_lowercase();
            let is_known = request.starts_with("get /copilot_internal/user http")
                && request.contains("authorization: bearer token-of-ada");
            let (status, body) = match is_known {
                true => ("200 OK", json!({ "login": "ada", "copilot_plan": "pro", "quota_snapshots": { "chat": {} } })),
                false => ("401 Unauthorized", json!({ "message": "Bad credentials" })),
            };
            let body = body.to_string();
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            // A client that has left needs no answer.
            stream.write_all((head + &body).as_bytes()).await.ok();
        }
    });
    (url, serving)
}

fn with_token(token: &str) -> Value {
    json!({ "sessionId": "0190aaaa-0000-7000-8000-000000000001", "gitHubToken": token })
}

#[tokio::test]
async fn a_session_has_the_account_of_its_clients_token() {
    let (github, _serving) = start_github().await;
    let mut client = CopilotTestClient::start(scenario().script(ECHO));
    *client.opener.github.lock().unwrap() = Some(github);
    let refused = client.call("session.create", with_token("token-of-nobody")).await.unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("401 Unauthorized"), "{refused}");
    assert!(!refused.to_string().contains("token-of-nobody"), "{refused}");
    let id = client.create_session(with_token("token-of-ada")).await;
    assert_eq!(*client.opener.secrets.lock().unwrap(), 1, "the token is not written");
    let of = json!({ "sessionId": id });
    let status = client.call("session.gitHubAuth.getStatus", of.clone()).await.unwrap();
    let expected = json!({
        "isAuthenticated": true, "authType": "token", "host": "https://github.com", "login": "ada", "copilotPlan": "pro",
    });
    assert_eq!(status, expected);
    let quota = client.call("account.getQuota", json!({ "gitHubToken": "token-of-ada" })).await.unwrap();
    assert!(quota["quotaSnapshots"]["chat"].is_object(), "{quota}");
    let credentials = json!({ "type": "user", "host": "https://github.com", "login": "bob" });
    let set = json!({ "sessionId": id, "credentials": credentials });
    assert_eq!(client.call("session.gitHubAuth.setCredentials", set).await.unwrap()["success"], true);
    assert_eq!(client.call("session.gitHubAuth.getStatus", of).await.unwrap()["login"], "bob");
    client.close().await;
}

#[tokio::test]
async fn without_github_a_session_opens_without_an_account() {
    let (github, serving) = start_github().await;
    drop(serving);
    let mut client = CopilotTestClient::start(scenario().script(ECHO));
    *client.opener.github.lock().unwrap() = Some(github);
    let id = client.create_session(with_token("token-of-ada")).await;
    let status = client.call("session.gitHubAuth.getStatus", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(status["isAuthenticated"], false);
    client.call("session.send", json!({ "sessionId": id, "prompt": "hello" })).await.unwrap();
    let warning = client.next_event("session.warning").await["data"]["message"].clone();
    assert!(warning.as_str().unwrap().starts_with("the GitHub account of the token is unknown"), "{warning}");
    client.close().await;
}
