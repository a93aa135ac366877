//! How long sessions are held.

use bosun_server::{HostError, KeepMode, OpenRequest};
use protocol::TaskState;
use runtime::SessionStart;
use testkit::session::scenario;

use super::{HELD, host_of, send, within};

const HELLO: &str = "
version: 1
rules:
  - answer: [say: hello]
";

fn new() -> OpenRequest {
    OpenRequest::new(SessionStart::New)
}

#[tokio::test]
async fn a_session_that_is_kept_until_quiet_finishes_its_work_first() {
    let (host, fixture) = host_of(scenario().allow_all().file("hold", "").script(HELD), 1);
    let held = host.open(new()).await.unwrap();
    let session = host.handle(held.id());
    send(&session, "go").await;
    let works = |status: &runtime::SessionStatus| status.root == Some(TaskState::Running);
    within("work", held.status().wait_for(works)).await.unwrap();
    assert_eq!(held.keep(KeepMode::UntilQuiet).await, Some(KeepMode::UntilClosed));
    assert_eq!(host.count(), 1);
    std::fs::remove_file(fixture.path("hold")).unwrap();
    within("the end", held.closed()).await;
    assert_eq!(host.count(), 0);
    assert_eq!(held.keep(KeepMode::UntilClosed).await, None, "it is closed");
    let view = session.view().unwrap();
    assert_eq!((view.state, view.owner_pid), (TaskState::Idle, None));
}

#[tokio::test]
async fn a_client_that_comes_back_keeps_a_session_that_would_be_closed() {
    let (host, fixture) = host_of(scenario().allow_all().file("hold", "").script(HELD), 1);
    let held = host.open(new()).await.unwrap();
    send(&host.handle(held.id()), "go").await;
    let works = |status: &runtime::SessionStatus| status.root == Some(TaskState::Running);
    within("work", held.status().wait_for(works)).await.unwrap();
    assert_eq!(held.keep(KeepMode::UntilQuiet).await, Some(KeepMode::UntilClosed));
    let again = host.open_and_resume(OpenRequest::new(SessionStart::Resume(held.id()))).await.unwrap();
    std::fs::remove_file(fixture.path("hold")).unwrap();
    within("rest", again.status().wait_for(|status| status.phase().is_over())).await.unwrap();
    assert_eq!(again.keep(KeepMode::UntilClosed).await, Some(KeepMode::UntilClosed), "it is still held");
    assert_eq!(host.count(), 1);
    again.close().await.unwrap();
    assert!(held.is_closed());
}

#[tokio::test]
async fn a_full_host_opens_no_more_sessions() {
    let (host, _fixture) = host_of(scenario().script(HELLO), 1);
    let held = host.open(new()).await.unwrap();
    assert!(matches!(host.open(new()).await, Err(HostError::Full(1))));
    assert_eq!(host.open(OpenRequest::new(SessionStart::Resume(held.id()))).await.unwrap().id(), held.id());
    held.close().await.unwrap();
    host.open(new()).await.unwrap();
    host.shut_down().await;
}

#[tokio::test]
async fn a_host_that_shuts_down_leaves_its_sessions_resumable() {
    let (host, fixture) = host_of(scenario().allow_all().file("hold", "").script(HELD), 1);
    let held = host.open(new()).await.unwrap();
    send(&host.handle(held.id()), "go").await;
    let works = |status: &runtime::SessionStatus| status.root == Some(TaskState::Running);
    within("work", held.status().wait_for(works)).await.unwrap();
    within("the end", host.shut_down()).await;
    assert!(held.is_closed());
    assert!(matches!(host.open(new()).await, Err(HostError::Closing)));
    let view = host.handle(held.id()).view().unwrap();
    assert_eq!((view.state, view.owner_pid), (TaskState::Interrupted, None));
    drop(fixture);
}
