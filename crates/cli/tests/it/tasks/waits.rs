//! Waits for a session and its tasks through the API, while another process runs it and after it has ended.

use std::time::Duration;

use client::SessionHandle;
use host::Home;
use protocol::TaskId;
use protocol::api::{RunPhase, SessionWaitEnd, SessionWaitParams, TaskWaitParams, calls};
use testkit::binary::{BinaryFixture, PATIENCE};

use super::{busy, let_go, tasks_json};
use crate::fixture;

/// A limit for a wait that would not end by itself.
const SHORT: Duration = Duration::from_millis(50);

struct Waiter {
    session: SessionHandle,
    docs: TaskId,
}

impl Waiter {
    fn new(fixture: &BinaryFixture) -> Waiter {
        let listed = tasks_json(fixture, &["list", "--below", "docs"]);
        let docs = listed["tasks"][0]["id"].as_str().unwrap().parse().unwrap();
        let home = Home::open(fixture.home()).unwrap();
        Waiter { session: SessionHandle::new(&home, fixture.newest().parse().unwrap()), docs }
    }

    /// Waits for the agent `docs`; whether it is at rest.
    async fn task(&self, limit: Option<Duration>) -> bool {
        let timeout_ms = limit.map(|limit| limit.as_millis() as u64);
        let params = TaskWaitParams { task: self.docs, timeout_ms };
        let ended = self.session.call::<calls::TasksWait>(&params, PATIENCE).await.unwrap();
        assert_eq!((ended.task.id, ended.task.state.is_at_rest()), (self.docs, ended.at_rest));
        ended.at_rest
    }

    async fn session(&self, limit: Option<Duration>) -> (SessionWaitEnd, RunPhase) {
        let timeout_ms = limit.map(|limit| limit.as_millis() as u64);
        let params = SessionWaitParams { timeout_ms, ..SessionWaitParams::default() };
        let ended = self.session.call::<calls::SessionWait>(&params, PATIENCE).await.unwrap();
        (ended.end, ended.phase)
    }
}

#[test]
fn waits_for_work_of_another_process_end_with_that_work() {
    let fixture = fixture();
    let running = busy(&fixture);
    let waiter = Waiter::new(&fixture);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        assert!(!waiter.task(Some(SHORT)).await, "the agent works");
        let (end, phase) = waiter.session(Some(SHORT)).await;
        assert_eq!(end, SessionWaitEnd::TimedOut, "{phase:?}");
        let go_on = async { let_go(&fixture, "docs") };
        let (at_rest, ()) = tokio::join!(waiter.task(None), go_on);
        assert!(at_rest);
        assert_eq!(waiter.session(Some(SHORT)).await.0, SessionWaitEnd::TimedOut, "the other agent works");
        let go_on = async { let_go(&fixture, "tests") };
        let (ended, ()) = tokio::join!(waiter.session(None), go_on);
        assert_eq!(ended, (SessionWaitEnd::Quiet, RunPhase::Quiet));
    });
    running.wait().expect(0);
    // Nothing works in a session that no process runs.
    runtime.block_on(async {
        assert!(waiter.task(None).await);
        assert_eq!(waiter.session(None).await, (SessionWaitEnd::Quiet, RunPhase::Quiet));
    });
}
