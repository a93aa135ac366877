//! Calls of clients in the server's own process.

use std::sync::Arc;

use bosun_rpc::{CallError, InProcessConnector, serve};
use protocol::api::Method;
use serde_json::json;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::stage::{TestRequestHandler, within_timeout};

/// A server without a socket.
fn serve_in_process() -> (InProcessConnector, Arc<TestRequestHandler>, CancellationToken, JoinSet<()>) {
    let (connector, requests) = InProcessConnector::new();
    let (handler, token) = (Arc::new(TestRequestHandler::default()), CancellationToken::new());
    let mut serving = JoinSet::new();
    serving.spawn(serve(None, requests, handler.clone(), token.clone()));
    (connector, handler, token, serving)
}

#[tokio::test]
async fn a_call_of_the_same_process_has_no_maximum_size() {
    let (connector, _handler, _token, _serving) = serve_in_process();
    let large = json!({ "pad": "x".repeat(9 << 20) });
    assert_eq!(connector.call(Method::SessionSend, large.clone()).await.unwrap(), large);
    let huge = connector.call(Method::TasksList, json!({ "do": "huge" })).await.unwrap();
    assert_eq!(huge.as_str().map(str::len), Some(9 << 20));
}

#[tokio::test]
async fn calls_of_the_same_process_take_turns_with_those_of_connections() {
    let (connector, handler, _token, _serving) = serve_in_process();
    let (client, _notifications) = connector.connect().await.unwrap();
    let waiting = connector.call(Method::SessionSend, json!({ "do": "wait", "tag": "first" }));
    let rest = async {
        // Answered at once, whatever waits.
        connector.call(Method::TasksList, json!({ "tag": "any" })).await.unwrap();
        let second = client.call::<serde_json::Value>(Method::SessionSend, json!({ "tag": "second" }));
        let release = async { handler.gate.notify_one() };
        tokio::join!(second, release).0.unwrap();
    };
    let (first, ()) = within_timeout(async { tokio::join!(waiting, rest) }).await;
    first.unwrap();
    let turns: Vec<String> = handler.log().into_iter().filter(|line| line.starts_with("session.send")).collect();
    let expected = ["first begins", "first ends", "second begins", "second ends"];
    assert_eq!(turns, expected.map(|turn| format!("session.send {turn}")));
}

#[tokio::test]
async fn a_refusal_and_a_panic_are_answers() {
    let (connector, _handler, _token, _serving) = serve_in_process();
    let refused = connector.call(Method::SessionSend, json!({ "do": "refuse" })).await;
    assert!(matches!(&refused, Err(CallError::Refused(error)) if error.data == Some(json!(7))), "{refused:?}");
    let failed = connector.call(Method::SessionSend, json!({ "do": "panic" })).await;
    assert!(matches!(failed, Err(CallError::Refused(_))), "{failed:?}");
}

#[tokio::test(start_paused = true)]
async fn calls_end_with_their_server() {
    let (connector, handler, token, mut serving) = serve_in_process();
    let waiting = connector.call(Method::SessionSend, json!({ "do": "wait", "tag": "late" }));
    let end = async {
        connector.call(Method::TasksList, json!({})).await.unwrap();
        token.cancel();
        serving.join_next().await.unwrap().unwrap();
    };
    let (late, ()) = tokio::join!(waiting, end);
    assert!(matches!(late, Err(CallError::Closed(_) | CallError::Refused(_))), "{late:?}");
    assert!(handler.log().iter().all(|line| !line.contains("late")), "it never went on");
    let after = connector.call(Method::TasksList, json!({})).await;
    assert!(matches!(after, Err(CallError::Closed(_))), "{after:?}");
}
