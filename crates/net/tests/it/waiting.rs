//! Servers that are slow, silent or gone.

use std::time::{Duration, Instant};

use bosun_net::{HttpTimeouts, NetError};

use crate::server::{Act, Server, client, post, send};

const SOON: Duration = Duration::from_millis(60);
const HEAD: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

/// The timeouts of all tests.
const LONG: HttpTimeouts = HttpTimeouts {
    connect: Duration::from_secs(30),
    first_byte: Duration::from_secs(30),
    idle: Duration::from_secs(30),
};

async fn read(acts: &[Act], patience: HttpTimeouts) -> (String, Option<NetError>) {
    let server = Server::start(acts).await;
    let begun = Instant::now();
    let mut answer = match client(patience).post(post(server.url())).await {
        Ok(answer) => answer,
        Err(error) => return (String::new(), Some(plain(error))),
    };
    let mut body = String::new();
    let error = loop {
        match answer.chunk().await {
            Ok(Some(chunk)) => body.push_str(std::str::from_utf8(&chunk).unwrap()),
            Ok(None) => break None,
            Err(error) => break Some(plain(error)),
        }
    };
    assert!(begun.elapsed() < Duration::from_secs(20));
    (body, error)
}

/// The error with a fixed name for the server, whose port differs each time.
fn plain(error: NetError) -> NetError {
    let host = || "server".to_owned();
    match error {
        NetError::FirstByte { after, .. } => NetError::FirstByte { host: host(), after },
        NetError::Idle { after, .. } => NetError::Idle { host: host(), after },
        other => other,
    }
}

fn first_byte() -> NetError {
    NetError::FirstByte { host: "server".into(), after: SOON }
}

#[tokio::test]
async fn a_server_that_never_answers() {
    let patience = HttpTimeouts { first_byte: SOON, ..LONG };
    assert_eq!(read(&[Act::Hang], patience).await, (String::new(), Some(first_byte())));
    assert_eq!(first_byte().to_string(), "server sent nothing within 0.06 s");
}

#[tokio::test]
async fn a_server_that_sends_only_a_head() {
    let patience = HttpTimeouts { first_byte: SOON, ..LONG };
    assert_eq!(read(&[send(HEAD), Act::Hang], patience).await, (String::new(), Some(first_byte())));
}

#[tokio::test]
async fn a_server_that_falls_silent_keeps_what_it_sent() {
    let silent = NetError::Idle { host: "server".into(), after: SOON };
    let acts = [send(HEAD), send("3\r\nabc\r\n"), Act::Hang];
    assert_eq!(read(&acts, HttpTimeouts { idle: SOON, ..LONG }).await, ("abc".into(), Some(silent)));
}

#[tokio::test]
async fn a_server_that_closes_in_the_middle_keeps_what_it_sent() {
    let (body, error) = read(&[send(HEAD), send("3\r\nabc\r\n")], LONG).await;
    assert_eq!(body, "abc");
    assert!(matches!(error, Some(NetError::ConnectionLost { .. })), "{error:?}");
}

#[tokio::test]
async fn a_server_that_closes_before_it_answers() {
    let (_, error) = read(&[], LONG).await;
    assert!(matches!(error, Some(NetError::ConnectionLost { .. })), "{error:?}");
}

#[tokio::test]
async fn a_server_that_speaks_something_else() {
    let (_, error) = read(&[send("SSH-2.0-OpenSSH_9.2\r\n")], LONG).await;
    assert!(matches!(error, Some(NetError::ConnectionLost { .. })), "{error:?}");
}

#[tokio::test]
async fn data_that_arrived_while_suspended_is_not_lost() {
    let server = Server::start(&[send(HEAD), send("3\r\nabc\r\n"), send("0\r\n\r\n")]).await;
    let patience = HttpTimeouts { first_byte: SOON, idle: SOON, ..LONG };
    let mut answer = client(patience).post(post(server.url())).await.unwrap();
    // Blocks the thread for longer than any deadline, as if the machine had been suspended.
    std::thread::sleep(SOON * 4);
    assert_eq!(answer.chunk().await.unwrap().unwrap(), "abc");
    std::thread::sleep(SOON * 4);
    assert_eq!(answer.chunk().await.unwrap(), None);
}
