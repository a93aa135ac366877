use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use bosun_rpc::local::{ConnectError, ListenError, PeerFilter, connect, listen};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const ADMIT_ALL: PeerFilter = |_| true;

#[expect(clippy::unwrap_used, reason = "only tests use this")]
fn socket_path(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

#[tokio::test]
async fn socket_has_mode_0600_and_is_removed_with_its_listener() {
    let (folder, path) = socket_path("s.sock");
    let listener = listen(&path, ADMIT_ALL).await.unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary socket stays behind");
    connect(&path).await.unwrap();
    drop(listener);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_live_listener_is_not_replaced() {
    let (_folder, path) = socket_path("s.sock");
    let listener = listen(&path, ADMIT_ALL).await.unwrap();
    assert!(matches!(listen(&path, ADMIT_ALL).await, Err(ListenError::InUse { .. })));
    connect(&path).await.unwrap();
    drop(listener);
    listen(&path, ADMIT_ALL).await.unwrap();
}

#[tokio::test]
async fn dead_socket_refuses_clients_and_is_replaced_by_listeners() {
    let (_folder, path) = socket_path("s.sock");
    // The standard library leaves the file behind, as a killed process does.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    assert!(matches!(connect(&path).await, Err(ConnectError::Refused { .. })));
    let listener = listen(&path, ADMIT_ALL).await.unwrap();
    connect(&path).await.unwrap();
    drop(listener);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_one_of_many_listeners_replaces_a_dead_socket() {
    let (_folder, path) = socket_path("s.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let mut tries = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let path = path.clone();
        tries.spawn(async move { listen(&path, ADMIT_ALL).await });
    }
    let results = tries.join_all().await;
    let (won, lost): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    assert!(lost.iter().all(|result| matches!(result, Err(ListenError::InUse { .. }))));
    connect(&path).await.unwrap();
}

#[tokio::test]
async fn file_that_is_not_a_socket_is_kept() {
    let (_folder, path) = socket_path("s.sock");
    std::fs::write(&path, "precious").unwrap();
    assert!(matches!(listen(&path, ADMIT_ALL).await, Err(ListenError::NotASocket { .. })));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
}

#[tokio::test]
async fn path_longer_than_a_socket_address_works() {
    let folder = tempfile::tempdir().unwrap();
    let deep = (0..8).fold(folder.path().to_owned(), |path, _| path.join("a-folder-with-a-rather-long-name"));
    std::fs::create_dir_all(&deep).unwrap();
    let path = deep.join("session.sock");
    assert!(path.as_os_str().len() > 250);
    assert!(matches!(connect(&path).await, Err(ConnectError::Absent { .. })));
    let listener = listen(&path, ADMIT_ALL).await.unwrap();
    assert!(matches!(listen(&path, ADMIT_ALL).await, Err(ListenError::InUse { .. })));
    let (client, server) = tokio::join!(connect(&path), listener.accept());
    client.unwrap();
    server.unwrap();
    drop(listener);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_missing_socket_and_a_missing_folder_are_absent() {
    let (_folder, path) = socket_path("s.sock");
    assert!(matches!(connect(&path).await, Err(ConnectError::Absent { .. })));
    assert!(matches!(connect(&path.join("deeper")).await, Err(ConnectError::Absent { .. })));
    assert!(matches!(listen(&path.join("deeper"), ADMIT_ALL).await, Err(ListenError::Io { .. })));
}

#[tokio::test]
async fn clients_that_are_not_admitted_are_closed_without_blocking_others() {
    static CLIENTS_CHECKED: AtomicUsize = AtomicUsize::new(0);
    let (_folder, path) = socket_path("s.sock");
    // The filter refuses the first two clients; all clients are in this process.
    let admits = |pid| pid == std::process::id() && CLIENTS_CHECKED.fetch_add(1, Ordering::SeqCst) >= 2;
    let listener = listen(&path, admits).await.unwrap();
    let mut refused = [connect(&path).await.unwrap(), connect(&path).await.unwrap()];
    let mut admitted = connect(&path).await.unwrap();
    let mut served = listener.accept().await.unwrap();
    served.write_all(b"hello").await.unwrap();
    drop(served);
    let mut received = String::new();
    admitted.read_to_string(&mut received).await.unwrap();
    assert_eq!(received, "hello");
    for stream in &mut refused {
        assert_eq!(stream.read(&mut [0; 8]).await.unwrap(), 0);
    }
}
