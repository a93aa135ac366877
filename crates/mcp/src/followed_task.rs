//! What a server sends by itself about a task that is followed: progress, and that its state has changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use protocol::{McpProgress, McpRemoteTask};
use serde_json::{Map, json};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};

use crate::McpError;
use crate::link::{ServerLink, ServerRequest};

/// How long a stream of notifications is kept before it is renewed.
const STREAM_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// How long after a lost stream a new one is opened.
const REOPEN_DELAY: Duration = Duration::from_secs(30);

/// Whether the server reports changes of a task by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamState {
    /// It may.
    Open,
    /// The connection on which it did was lost.
    Lost,
}

/// What a server has said of a task by itself.
#[derive(Debug, Default)]
pub(crate) struct TaskSignals {
    progress: watch::Sender<Option<McpProgress>>,
    changed: Notify,
    is_stream_lost: AtomicBool,
}

impl TaskSignals {
    /// The server reports progress.
    pub(crate) fn set_progress(&self, progress: McpProgress) {
        self.progress.send_replace(Some(progress));
    }

    /// The server reports that the state of the task has changed.
    pub(crate) fn set_changed(&self) {
        self.changed.notify_one();
    }
}

/// A task that is followed on a connection, until this is dropped.
pub(crate) struct FollowedTask {
    link: Arc<ServerLink>,
    key: u64,
    signals: Arc<TaskSignals>,
}

impl FollowedTask {
    pub(crate) fn new(link: &Arc<ServerLink>, task: &McpRemoteTask) -> FollowedTask {
        let signals = Arc::<TaskSignals>::default();
        let key = link.follow(task, Arc::clone(&signals));
        FollowedTask { link: Arc::clone(link), key, signals }
    }

    pub(crate) fn stream(&self) -> StreamState {
        if self.signals.is_stream_lost.load(Ordering::Relaxed) { StreamState::Lost } else { StreamState::Open }
    }

    /// The progress that the server reported last.
    pub(crate) fn progress(&self) -> Option<McpProgress> {
        self.signals.progress.borrow().clone()
    }

    /// What the server says next.
    pub(crate) fn listen(&self) -> (ChangeUpdates, ProgressUpdates) {
        (ChangeUpdates(Arc::clone(&self.signals)), ProgressUpdates(self.signals.progress.subscribe()))
    }

    /// Keeps a stream of notifications about the task, as far as the server has them. Without one, it is only polled.
    pub(crate) fn keep_stream(&self, id: &str) -> impl Future<Output = ()> + use<> {
        let (link, signals, id) = (Arc::clone(&self.link), Arc::clone(&self.signals), id.to_owned());
        async move {
            loop {
                let params = Map::from_iter([("notifications".to_owned(), json!({ "taskIds": [id] }))]);
                let ended = link.request(ServerRequest::new("subscriptions/listen", params, STREAM_TIME)).await;
                match ended {
                    // The server has no such notifications.
                    Ok(_) | Err(McpError::Refused { .. } | McpError::NoAccess { .. }) => return,
                    Err(McpError::TimedOut { .. }) => {}
                    Err(McpError::Unreachable { .. } | McpError::Malformed { .. }) => {
                        signals.is_stream_lost.store(true, Ordering::Relaxed);
                        tokio::time::sleep(REOPEN_DELAY).await;
                        signals.is_stream_lost.store(false, Ordering::Relaxed);
                    }
                }
            }
        }
    }
}

impl Drop for FollowedTask {
    fn drop(&mut self) {
        self.link.unfollow(self.key);
    }
}

/// The changes of a task that its server reports.
pub(crate) struct ChangeUpdates(Arc<TaskSignals>);

impl ChangeUpdates {
    /// Waits until the server reports that the state has changed.
    pub(crate) async fn next(&self) {
        self.0.changed.notified().await;
    }
}

/// The progress of a task that its server reports.
pub(crate) struct ProgressUpdates(watch::Receiver<Option<McpProgress>>);

impl ProgressUpdates {
    /// Waits for progress that was not returned before, at least until this time.
    pub(crate) async fn next(&mut self, not_before: Instant) -> McpProgress {
        next_progress(&mut self.0, not_before).await
    }
}

/// Waits for progress that was not returned before, at least until this time. Of several reports, the last one counts.
pub(crate) async fn next_progress(
    reported: &mut watch::Receiver<Option<McpProgress>>,
    not_before: Instant,
) -> McpProgress {
    sleep_until(not_before).await;
    loop {
        if reported.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        if let Some(progress) = reported.borrow_and_update().clone() {
            return progress;
        }
    }
}
