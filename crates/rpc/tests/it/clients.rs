use bosun_rpc::{CallError, ErrorObject};
use protocol::api::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::stage::{TestRpcServer, within_timeout};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_clients_get_their_own_answers() {
    let server = TestRpcServer::start().await;
    let mut clients = JoinSet::new();
    for number in 0..100 {
        let path = server.path().to_owned();
        clients.spawn(async move {
            let (client, _notifications) = bosun_rpc::RpcClient::connect(&path).await.unwrap();
            for round in 0..20 {
                let method = if round % 2 == 0 { Method::SessionGet } else { Method::SessionSend };
                let sent = json!({ "client": number, "round": round });
                let answer: Value = client.call(method, &sent).await.unwrap();
                assert_eq!(answer, sent);
            }
        });
    }
    while let Some(done) = within_timeout(clients.join_next()).await {
        done.unwrap();
    }
    server.stop().await;
}

#[tokio::test]
async fn calls_of_one_client_overlap() {
    let server = TestRpcServer::start().await;
    let (client, _notifications) = server.client().await;
    let slow = client.call::<Value>(Method::SessionGet, json!({ "do": "wait" }));
    tokio::pin!(slow);
    let quick = async {
        let answer: Value = client.call(Method::TasksList, json!({ "n": 1 })).await.unwrap();
        server.handler.gate.notify_one();
        answer
    };
    let (slow, quick) = within_timeout(async { tokio::join!(slow, quick) }).await;
    assert_eq!(quick["n"], 1);
    assert_eq!(slow.unwrap()["do"], "wait");
    server.stop().await;
}

#[tokio::test]
async fn a_refusal_keeps_its_code_and_its_data() {
    let server = TestRpcServer::start().await;
    let (client, _notifications) = server.client().await;
    let error = client.call::<Value>(Method::SessionGet, json!({ "do": "refuse" })).await.unwrap_err();
    let CallError::Refused(error) = error else { panic!("{error}") };
    assert_eq!((error.code, error.data), (ErrorObject::BAD_PARAMS, Some(json!(7))));
    server.stop().await;
}

#[tokio::test]
async fn answer_of_another_type_is_an_error() {
    let server = TestRpcServer::start().await;
    let (client, _notifications) = server.client().await;
    let error = client.call::<u8>(Method::SessionGet, json!({})).await.unwrap_err();
    assert!(matches!(error, CallError::Answer(_)), "{error}");
    server.stop().await;
}

#[tokio::test]
async fn too_large_calls_and_answers_are_errors_and_keep_the_connection() {
    let server = TestRpcServer::start().await;
    let (client, _notifications) = server.client().await;
    let error = client.call::<Value>(Method::SessionGet, json!([" ".repeat(9 << 20)])).await.unwrap_err();
    assert!(matches!(error, CallError::TooLarge { .. }), "{error}");
    let error = client.call::<Value>(Method::SessionGet, json!({ "do": "huge" })).await.unwrap_err();
    let CallError::Refused(error) = error else { panic!("{error}") };
    assert_eq!(error.code, ErrorObject::INTERNAL);
    client.call::<Value>(Method::SessionGet, ()).await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn panic_in_a_call_becomes_its_error_answer() {
    let server = TestRpcServer::start().await;
    let (client, _notifications) = server.client().await;
    for method in [Method::SessionGet, Method::SessionSend] {
        let error = client.call::<Value>(method, json!({ "do": "panic" })).await.unwrap_err();
        let CallError::Refused(error) = error else { panic!("{error}") };
        assert_eq!(error.code, ErrorObject::INTERNAL);
        client.call::<Value>(method, json!({})).await.unwrap();
    }
    server.stop().await;
}

#[tokio::test]
async fn pending_call_ends_with_a_reason_when_the_owner_stops() {
    let server = TestRpcServer::start().await;
    let (client, mut notifications) = server.client().await;
    let stuck = client.call::<Value>(Method::SessionGet, json!({ "do": "wait" }));
    let stop = async {
        // Once a later call is answered, the first one has arrived.
        client.call::<Value>(Method::TasksList, ()).await.unwrap();
        server.stop().await;
    };
    let (stuck, ()) = within_timeout(async { tokio::join!(stuck, stop) }).await;
    assert!(matches!(stuck, Err(CallError::Closed(_))), "{stuck:?}");
    let later = client.call::<Value>(Method::SessionGet, ()).await.unwrap_err();
    assert!(matches!(later, CallError::Closed(_)), "{later}");
    assert_eq!(notifications.next().await.unwrap_err().reason, "the owner closed it");
}
