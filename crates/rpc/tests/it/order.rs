use protocol::api::Method;
use serde_json::{Value, json};

use crate::stage::{TestRpcServer, within_timeout};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_methods_of_all_clients_run_in_sequence() {
    let server = TestRpcServer::start().await;
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..20 {
        let (client, _notifications) = server.client().await;
        calls.spawn(async move {
            for round in 0..5 {
                let method = if round % 2 == 0 { Method::SessionSend } else { Method::SessionInterrupt };
                let params = json!({ "tag": format!("{number}.{round}") });
                client.call::<Value>(method, params).await.unwrap();
            }
        });
    }
    while let Some(done) = within_timeout(calls.join_next()).await {
        done.unwrap();
    }
    let log = server.handler.log();
    assert_eq!(log.len(), 200);
    for pair in log.chunks(2) {
        assert_eq!(pair[0].strip_suffix(" begins"), pair[1].strip_suffix(" ends"));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_methods_of_one_client_run_in_the_order_it_sent_them() {
    let server = TestRpcServer::start().await;
    let mut raw = server.raw().await;
    let mut sent = String::new();
    for number in 0..50 {
        let params = json!({ "tag": number.to_string() });
        let request = json!({ "jsonrpc": "2.0", "id": number, "method": "session.send", "params": params });
        sent.push_str(&format!("{request}\n"));
    }
    raw.write(sent.as_bytes()).await;
    for _ in 0..50 {
        raw.read().await.expect("an answer");
    }
    let started: Vec<_> = server.handler.log().into_iter().filter(|line| line.ends_with("begins")).collect();
    let expected: Vec<_> = (0..50).map(|number| format!("session.send {number} begins")).collect();
    assert_eq!(started, expected);
    server.stop().await;
}

#[tokio::test]
async fn waiting_session_method_blocks_only_session_methods() {
    let server = TestRpcServer::start().await;
    let ((one, _n1), (two, _n2)) = (server.client().await, server.client().await);
    let first = one.call::<Value>(Method::SessionSend, json!({ "do": "wait", "tag": "first" }));
    let rest = async {
        one.call::<Value>(Method::TasksList, json!({ "tag": "any" })).await.unwrap();
        let second = two.call::<Value>(Method::SessionSend, json!({ "tag": "second" }));
        let release = async {
            two.call::<Value>(Method::TasksList, json!({ "tag": "any" })).await.unwrap();
            server.handler.gate.notify_one();
        };
        tokio::join!(second, release).0.unwrap();
    };
    within_timeout(async { tokio::join!(first, rest) }).await.0.unwrap();
    let log = server.handler.log();
    let position_of = |line: &str| log.iter().position(|logged| logged == line).unwrap();
    assert!(position_of("tasks.list any ends") < position_of("session.send first begins"));
    assert!(position_of("session.send first ends") < position_of("session.send second begins"));
    server.stop().await;
}

#[tokio::test]
async fn released_turn_blocks_only_its_own_client() {
    let server = TestRpcServer::start().await;
    let ((one, _n1), (two, _n2)) = (server.client().await, server.client().await);
    let first = one.call::<Value>(Method::SessionSend, json!({ "do": "pass", "tag": "first" }));
    let own = async {
        for tag in ["second", "third"] {
            one.call::<Value>(Method::SessionSend, json!({ "tag": tag })).await.unwrap();
        }
    };
    let other = async {
        one.call::<Value>(Method::TasksList, json!({ "tag": "arrived" })).await.unwrap();
        two.call::<Value>(Method::SessionInterrupt, json!({ "tag": "other" })).await.unwrap();
        server.handler.gate.notify_one();
    };
    within_timeout(async { tokio::join!(first, own, other) }).await.0.unwrap();
    let log: Vec<String> = server.handler.log().into_iter().filter(|line| line.starts_with("session.")).collect();
    let ends: Vec<&str> = log.iter().filter_map(|line| line.strip_suffix(" ends")).collect();
    assert_eq!(ends, ["session.interrupt other", "session.send first", "session.send second", "session.send third"]);
    server.stop().await;
}

#[tokio::test]
async fn a_session_method_is_applied_even_if_its_client_left() {
    let server = TestRpcServer::start().await;
    let ((stays, _n1), (leaves, n2)) = (server.client().await, server.client().await);
    let first = stays.call::<Value>(Method::SessionSend, json!({ "do": "wait", "tag": "first" }));
    let rest = async {
        stays.call::<Value>(Method::TasksList, ()).await.unwrap();
        {
            let orphan = leaves.call::<Value>(Method::SessionSend, json!({ "tag": "orphan" }));
            let arrived = leaves.call::<Value>(Method::TasksList, ());
            tokio::select! {
                biased;
                _ = orphan => panic!("it waits for the first"),
                arrived = arrived => arrived.unwrap(),
            };
        }
        drop((leaves, n2));
        server.handler.gate.notify_one();
    };
    within_timeout(async { tokio::join!(first, rest) }).await.0.unwrap();
    stays.call::<Value>(Method::SessionSend, json!({ "tag": "last" })).await.unwrap();
    assert!(server.handler.log().contains(&"session.send orphan ends".to_owned()));
    server.stop().await;
}
