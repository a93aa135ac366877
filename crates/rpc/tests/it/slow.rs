use protocol::api::Method;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::stage::{REPLAYED, Running, soon};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_never_reads_is_closed_and_stalls_nobody() {
    let server = Running::start().await;
    let mut deaf = server.stream().await;
    deaf.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"events.subscribe\",\"params\":{\"do\":\"flood\"}}\n")
        .await
        .unwrap();
    let (client, _notifications) = server.client().await;
    for _ in 0..100 {
        soon(client.call::<Value>(Method::SessionSend, json!({}))).await.unwrap();
    }
    // Hung up on: bytes written to it go nowhere.
    soon(async {
        while deaf.write_all(b"\n").await.is_ok() {
            tokio::task::yield_now().await
        }
    })
    .await;
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_reads_too_slowly_learns_why_and_where_to_go_on() {
    let server = Running::start().await;
    let mut raw = server.raw().await;
    raw.write(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"events.subscribe\",\"params\":{\"do\":\"flood\"}}\n").await;
    let mut seen = 0;
    let error = loop {
        let line = raw.read().await.expect("a farewell before the end");
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
async fn a_replay_larger_than_the_queue_reaches_a_client_that_reads() {
    let server = Running::start().await;
    let (client, mut notifications) = server.client().await;
    client.call::<Value>(Method::EventsSubscribe, json!({ "do": "replay" })).await.unwrap();
    for seq in 0..REPLAYED {
        assert_eq!(soon(notifications.next()).await.unwrap().params["seq"], seq);
    }
    client.call::<Value>(Method::SessionGet, ()).await.unwrap();
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_nobody_reads_stop_that_client_s_calls_only() {
    let server = Running::start().await;
    let mut deaf = server.stream().await;
    let pad = "x".repeat(1 << 20);
    let request =
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": 1, "method": "session.get", "params": { "pad": pad } }));
    let flood = async {
        for _ in 0..200 {
            deaf.write_all(request.as_bytes()).await.unwrap();
        }
    };
    let work = async {
        let (client, _notifications) = server.client().await;
        for _ in 0..100 {
            client.call::<Value>(Method::SessionSend, json!({})).await.unwrap();
        }
    };
    soon(async {
        tokio::select! {
            () = flood => panic!("the server took more than it can hold"),
            () = work => {}
        }
    })
    .await;
    server.stop().await;
}
