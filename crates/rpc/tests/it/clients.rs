use bosun_rpc::{CallError, ErrorObject};
use protocol::api::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::stage::{Running, soon};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_clients_get_their_own_answers() {
    let server = Running::start().await;
    let mut clients = JoinSet::new();
    for number in 0..100 {
        let path = server.path().to_owned();
        clients.spawn(async move {
            let (client, _notifications) = bosun_rpc::RpcClient::connect(&path).await.unwrap();
            for round in 0..20 {
                let method = if round % 2 == 0 { Method::SessionGet } else { Method::SessionSend };
                let sent = json!({ "client": number, "round": round });
                let got: Value = client.call(method, &sent).await.unwrap();
                assert_eq!(got, sent);
            }
        });
    }
    while let Some(done) = soon(clients.join_next()).await {
        done.unwrap();
    }
    server.stop().await;
}

#[tokio::test]
async fn calls_of_one_client_overlap() {
    let server = Running::start().await;
    let (client, _notifications) = server.client().await;
    let slow = client.call::<Value>(Method::SessionGet, json!({ "do": "wait" }));
    tokio::pin!(slow);
    let quick = async {
        let got: Value = client.call(Method::TasksList, json!({ "n": 1 })).await.unwrap();
        server.stage.gate.notify_one();
        got
    };
    let (slow, quick) = soon(async { tokio::join!(slow, quick) }).await;
    assert_eq!(quick["n"], 1);
    assert_eq!(slow.unwrap()["do"], "wait");
    server.stop().await;
}

#[tokio::test]
async fn a_refusal_keeps_its_code_and_its_data() {
    let server = Running::start().await;
    let (client, _notifications) = server.client().await;
    let error = client.call::<Value>(Method::SessionGet, json!({ "do": "refuse" })).await.unwrap_err();
    let CallError::Refused(error) = error else { panic!("{error}") };
    assert_eq!((error.code, error.data), (ErrorObject::BAD_PARAMS, Some(json!(7))));
    server.stop().await;
}

#[tokio::test]
async fn an_answer_of_another_form_is_said_to_be_so() {
    let server = Running::start().await;
    let (client, _notifications) = server.client().await;
    let error = client.call::<u8>(Method::SessionGet, json!({})).await.unwrap_err();
    assert!(matches!(error, CallError::Answer(_)), "{error}");
    server.stop().await;
}

#[tokio::test]
async fn a_call_or_an_answer_too_large_for_a_frame_is_an_error_not_an_end() {
    let server = Running::start().await;
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
async fn a_panic_in_one_call_is_that_call_s_answer() {
    let server = Running::start().await;
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
async fn a_call_under_way_when_the_owner_stops_ends_with_a_reason() {
    let server = Running::start().await;
    let (client, mut notifications) = server.client().await;
    let stuck = client.call::<Value>(Method::SessionGet, json!({ "do": "wait" }));
    let stop = async {
        // The call is known to have arrived once a later one is answered.
        client.call::<Value>(Method::TasksList, ()).await.unwrap();
        server.stop().await;
    };
    let (stuck, ()) = soon(async { tokio::join!(stuck, stop) }).await;
    assert!(matches!(stuck, Err(CallError::Closed(_))), "{stuck:?}");
    let later = client.call::<Value>(Method::SessionGet, ()).await.unwrap_err();
    assert!(matches!(later, CallError::Closed(_)), "{later}");
    assert_eq!(notifications.next().await.unwrap_err().reason, "the owner closed it");
}
