//! Invalid frames, invalid messages and unknown methods.

use serde_json::json;
use testkit::session::scenario;

use super::client::CopilotTestClient;

#[tokio::test]
async fn unknown_methods_are_reported_as_unhandled() {
    let mut client = CopilotTestClient::start(scenario());
    for method in ["session.workflow.run", "mcp.list", "nonsense", ""] {
        let error = client.call(method, json!({})).await.unwrap_err();
        assert_eq!(error, json!({ "code": -32601, "message": format!("Unhandled method {method}") }));
    }
    let error = client.call("session.send", json!({ "sessionId": "nobody" })).await.unwrap_err();
    assert_eq!(error["message"], "Request session.send failed with message: Session not found: nobody");
    client.close().await;
}

#[tokio::test]
async fn invalid_messages_are_answered_and_the_adapter_stays_open() {
    let mut client = CopilotTestClient::start(scenario());
    client.raw(b"Content-Length: 8\r\n\r\nnot json").await;
    assert_eq!(client.read().await.unwrap()["error"]["code"], -32700);
    client.raw(b"Content-Length: 2\r\n\r\n[]").await;
    assert_eq!(client.read().await.unwrap()["error"]["code"], -32600);
    client.write(json!({ "jsonrpc": "2.0", "id": 99, "result": {} })).await;
    client.write(json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} })).await;
    let pong = client.call("ping", json!({ "message": "x" })).await.unwrap();
    assert_eq!((&pong["message"], &pong["protocolVersion"]), (&json!("pong: x"), &json!(3)));
    client.close().await;
}

#[tokio::test]
async fn invalid_frames_close_the_adapter() {
    for hostile in ["Content-Length: 99999999999\r\n\r\n", "Length: 2\r\n\r\n{}"] {
        let mut client = CopilotTestClient::start(scenario());
        client.raw(hostile.as_bytes()).await;
        assert_eq!(client.read().await.unwrap()["error"]["code"], -32600);
        assert_eq!(client.read().await, None);
    }
}
