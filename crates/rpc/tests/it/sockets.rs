use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use bosun_rpc::local::{ConnectError, ListenError, PeerFilter, connect, listen};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const ANYBODY: PeerFilter = |_| true;

#[expect(clippy::unwrap_used, reason = "only tests are placed here")]
fn place(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

#[tokio::test]
async fn only_the_owner_may_open_it_and_it_goes_with_its_listener() {
    let (folder, path) = place("s.sock");
    let listener = listen(&path, ANYBODY).await.unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no draft stays behind");
    connect(&path).await.unwrap();
    drop(listener);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_live_listener_is_not_replaced() {
    let (_folder, path) = place("s.sock");
    let listener = listen(&path, ANYBODY).await.unwrap();
    assert!(matches!(listen(&path, ANYBODY).await, Err(ListenError::InUse { .. })));
    connect(&path).await.unwrap();
    drop(listener);
    listen(&path, ANYBODY).await.unwrap();
}

#[tokio::test]
async fn a_dead_owner_s_socket_is_refused_to_clients_and_replaced_by_listeners() {
    let (_folder, path) = place("s.sock");
    // The standard library leaves the file behind, as a killed process does.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    assert!(matches!(connect(&path).await, Err(ConnectError::Refused { .. })));
    let listener = listen(&path, ANYBODY).await.unwrap();
    connect(&path).await.unwrap();
    drop(listener);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_that_find_a_dead_socket_one_gets_it() {
    let (_folder, path) = place("s.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let mut tries = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let path = path.clone();
        tries.spawn(async move { listen(&path, ANYBODY).await });
    }
    let results = tries.join_all().await;
    let (won, lost): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    assert!(lost.iter().all(|result| matches!(result, Err(ListenError::InUse { .. }))));
    connect(&path).await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_no_socket_is_left_alone() {
    let (_folder, path) = place("s.sock");
    std::fs::write(&path, "precious").unwrap();
    assert!(matches!(listen(&path, ANYBODY).await, Err(ListenError::NotASocket { .. })));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
}

#[tokio::test]
async fn a_path_longer_than_an_address_works() {
    let folder = tempfile::tempdir().unwrap();
    let deep = (0..8).fold(folder.path().to_owned(), |path, _| path.join("a-folder-with-a-rather-long-name"));
    std::fs::create_dir_all(&deep).unwrap();
    let path = deep.join("session.sock");
    assert!(path.as_os_str().len() > 250);
    assert!(matches!(connect(&path).await, Err(ConnectError::Absent { .. })));
    let listener = listen(&path, ANYBODY).await.unwrap();
    assert!(matches!(listen(&path, ANYBODY).await, Err(ListenError::InUse { .. })));
    let (client, server) = tokio::join!(connect(&path), listener.accept());
    client.unwrap();
    server.unwrap();
    drop(listener);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_missing_socket_and_a_missing_folder_are_absent() {
    let (_folder, path) = place("s.sock");
    assert!(matches!(connect(&path).await, Err(ConnectError::Absent { .. })));
    assert!(matches!(connect(&path.join("deeper")).await, Err(ConnectError::Absent { .. })));
    assert!(matches!(listen(&path.join("deeper"), ANYBODY).await, Err(ListenError::Io { .. })));
}

#[tokio::test]
async fn who_is_not_admitted_is_closed_and_holds_nobody_up() {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let (_folder, path) = place("s.sock");
    // The first two are refused; all of them are this process.
    let admits = |pid| pid == std::process::id() && TURN.fetch_add(1, Ordering::SeqCst) >= 2;
    let listener = listen(&path, admits).await.unwrap();
    let mut refused = [connect(&path).await.unwrap(), connect(&path).await.unwrap()];
    let mut admitted = connect(&path).await.unwrap();
    let mut served = listener.accept().await.unwrap();
    served.write_all(b"hello").await.unwrap();
    drop(served);
    let mut heard = String::new();
    admitted.read_to_string(&mut heard).await.unwrap();
    assert_eq!(heard, "hello");
    for stream in &mut refused {
        assert_eq!(stream.read(&mut [0; 8]).await.unwrap(), 0);
    }
}
