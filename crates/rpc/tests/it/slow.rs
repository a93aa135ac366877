use protocol::api::Method;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::stage::{REPLAYED_EVENTS, TestRpcServer, within_timeout};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_that_never_reads_is_closed_without_stalling_others() {
    let server = TestRpcServer::start().await;
    let mut unread_client = server.stream().await;
    unread_client
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"events.subscribe\",\"params\":{\"do\":\"flood\"}}\n")
        .await
        .unwrap();
    let (client, _notifications) = server.client().await;
    for _ in 0..100 {
        within_timeout(client.call::<Value>(Method::SessionSend, json!({}))).await.unwrap();
    }
    // The server has closed the connection: writes fail.
    within_timeout(async {
        while unread_client.write_all(b"\n").await.is_ok() {
            tokio::task::yield_now().await
        }
    })
    .await;
    server.stop().await;
}

#[tokio::test]
async fn slow_client_receives_the_reason_before_it_is_closed() {
    let server = TestRpcServer::start().await;
    let mut raw = server.raw().await;
    raw.write(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"events.subscribe\",\"params\":{\"do\":\"flood\"}}\n").await;
    let mut seen = 0;
    let error = loop {
        let line = raw.read().await.expect("a close message before the end");
        match line["params"]["seq"].as_u64() {
            Some(seq) => {
                assert_eq!(seq, seen, "no gap before the end");
                seen += 1;
            }
            None if line["id"].is_null() => break line,
            None => {}
        }
    };
    assert_eq!(error["error"]["code"], -32001);
    assert_eq!(raw.read().await, None);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_replay_reaches_a_client_that_reads() {
    let server = TestRpcServer::start().await;
    let (client, mut notifications) = server.client().await;
    client.call::<Value>(Method::EventsSubscribe, json!({ "do": "replay" })).await.unwrap();
    for seq in 0..REPLAYED_EVENTS {
        assert_eq!(within_timeout(notifications.next()).await.unwrap().params["seq"], seq);
    }
    client.call::<Value>(Method::SessionGet, ()).await.unwrap();
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_answers_block_only_their_client() {
    let server = TestRpcServer::start().await;
    let mut unread_client = server.stream().await;
    let pad = "x".repeat(1 << 20);
    let request =
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": 1, "method": "session.get", "params": { "pad": pad } }));
    let flood = async {
        for _ in 0..200 {
            unread_client.write_all(request.as_bytes()).await.unwrap();
        }
    };
    let work = async {
        let (client, _notifications) = server.client().await;
        for _ in 0..100 {
            client.call::<Value>(Method::SessionSend, json!({})).await.unwrap();
        }
    };
    within_timeout(async {
        tokio::select! {
            () = flood => panic!("the server took more than it can hold"),
            () = work => {}
        }
    })
    .await;
    server.stop().await;
}
