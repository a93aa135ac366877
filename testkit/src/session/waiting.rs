//! Waits for what happens outside of a session, and time limits that pass at once.

use std::path::Path;
use std::time::Duration;

use tokio::time::{advance, pause, resume};

/// A shell command that waits for a file called `go`.
pub const UNTIL_GO: &str = "until [ -e go ]; do sleep 0.01; done";

/// A time limit for sessions that even a loaded machine does not reach by itself.
pub const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Waits for something outside the session.
pub async fn eventually(what: &str, is_true: impl Fn() -> bool) {
    for _ in 0..2000 {
        if is_true() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("timed out waiting for: {what}");
}

/// Waits until a file is there.
pub async fn until_file(path: &Path) {
    eventually("a file", || path.exists()).await;
}

/// Lets everything that is ready run.
pub async fn run_ready_tasks() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// Lets [`TIME_LIMIT`] pass at once; call it when everything that should be running by then is.
pub async fn pass_time_limit() {
    pause();
    advance(TIME_LIMIT).await;
    run_ready_tasks().await;
    resume();
}
