use crate::stage::TestRpcServer;

const GET: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":\"ok\",\"method\":\"session.get\"}\n";

#[tokio::test]
async fn invalid_messages_are_answered_and_the_connection_stays_open() {
    let server = TestRpcServer::start().await;
    let mut raw = server.raw().await;
    let table: [(&[u8], i64); 8] = [
        (b"not json\n", -32700),
        (b"\xff\xfe\x00\x01binary\n", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\n", -32700),
        (b"[]\n", -32600),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session.get\"}]\n", -32600),
        (b"{\"id\":1,\"method\":\"session.get\"}\n", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session.fly\"}\n", -32601),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session.get\",\"params\":{\"do\":\"refuse\"}}\n", -32602),
    ];
    for (sent, code) in table {
        let answer = raw.request(sent).await;
        assert_eq!(answer["error"]["code"], code, "{}", String::from_utf8_lossy(sent));
        assert_eq!(raw.request(GET).await["id"], "ok");
    }
    server.stop().await;
}

#[tokio::test]
async fn too_large_frame_closes_only_its_client() {
    let server = TestRpcServer::start().await;
    let mut other = server.raw().await;
    let mut raw = server.raw().await;
    // The server closes the connection while this is being written.
    tokio::io::AsyncWriteExt::write_all(&mut raw.output, &vec![b'x'; 32 << 20]).await.ok();
    let close_message = raw.read().await;
    assert!(close_message.is_none_or(|close_message| close_message["error"]["code"] == -32600));
    assert!(raw.read().await.is_none());
    assert_eq!(other.request(GET).await["id"], "ok");
    server.stop().await;
}

#[tokio::test]
async fn truncated_frames_run_nothing() {
    let server = TestRpcServer::start().await;
    let sent = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session.send\",\"params\":{\"tag\":\"half\"}}";
    for end in [1, 20, sent.len()] {
        let mut raw = server.raw().await;
        raw.write(&sent[..end]).await;
        drop(raw);
    }
    let mut raw = server.raw().await;
    raw.request(GET).await;
    assert!(server.handler.log().iter().all(|line| !line.contains("half")));
    server.stop().await;
}

#[tokio::test]
async fn client_that_closed_its_input_still_gets_answers() {
    let server = TestRpcServer::start().await;
    let mut raw = server.raw().await;
    raw.write(GET).await;
    raw.write(GET).await;
    tokio::io::AsyncWriteExt::shutdown(&mut raw.output).await.unwrap();
    assert_eq!(raw.read().await.unwrap()["id"], "ok");
    assert_eq!(raw.read().await.unwrap()["id"], "ok");
    assert_eq!(raw.read().await, None);
    server.stop().await;
}

#[tokio::test]
async fn interleaved_frames_of_two_clients_do_not_mix() {
    let server = TestRpcServer::start().await;
    let (mut one, mut two) = (server.raw().await, server.raw().await);
    let frame =
        |id: u32| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tasks.list\",\"params\":{{\"n\":{id}}}}}\n");
    for (first, second) in frame(1).bytes().zip(frame(2).bytes()) {
        one.write(&[first]).await;
        two.write(&[second]).await;
    }
    assert_eq!(one.read().await.unwrap()["result"]["n"], 1);
    assert_eq!(two.read().await.unwrap()["result"]["n"], 2);
    server.stop().await;
}

#[tokio::test]
async fn a_notification_is_performed_and_never_answered() {
    let server = TestRpcServer::start().await;
    let mut raw = server.raw().await;
    raw.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"session.send\",\"params\":{\"tag\":\"quiet\"}}\n").await;
    raw.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"session.fly\"}\n").await;
    let after = b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session.send\",\"params\":{\"tag\":\"loud\"}}\n";
    assert_eq!(raw.request(after).await["id"], 2);
    assert_eq!(server.handler.log()[..2], ["session.send quiet begins", "session.send quiet ends"]);
    server.stop().await;
}
