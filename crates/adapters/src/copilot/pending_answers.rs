//! Requests that were sent to a session's clients as events, and that any of them may answer with a call.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use host::{Ids, TimeIds};
use serde_json::Value;
use tokio::sync::oneshot;

/// Requests that no client has answered yet, by their ids.
#[derive(Debug, Default)]
pub(crate) struct PendingAnswers(Mutex<HashMap<String, oneshot::Sender<Value>>>);

impl PendingAnswers {
    /// Registers a request, which is pending until it is dropped.
    pub(crate) fn register(&self) -> PendingAnswer<'_> {
        let (sender, answer) = oneshot::channel();
        let id = TimeIds.uuid().to_string();
        self.lock().insert(id.clone(), sender);
        PendingAnswer { pending: self, id, answer }
    }

    /// Answers a request; returns whether it was pending.
    pub(crate) fn answer(&self, id: &str, answer: Value) -> bool {
        let pending = self.lock().remove(id);
        pending.is_some_and(|pending| pending.send(answer).is_ok())
    }

    /// Gives up on all requests: no client can answer them any more.
    pub(crate) fn abandon_all(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<Value>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that waits for its answer.
#[derive(Debug)]
pub(crate) struct PendingAnswer<'a> {
    pending: &'a PendingAnswers,
    id: String,
    answer: oneshot::Receiver<Value>,
}

impl PendingAnswer<'_> {
    /// The id by which clients answer it.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Waits for the answer; none if it was abandoned.
    pub(crate) async fn wait(mut self) -> Option<Value> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for PendingAnswer<'_> {
    fn drop(&mut self) {
        self.pending.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_request_is_answered_once_or_abandoned() {
        let requests = PendingAnswers::default();
        let (first, second) = (requests.register(), requests.register());
        let id = first.id().to_owned();
        assert!(requests.answer(&id, json!(1)) && !requests.answer(&id, json!(2)));
        assert_eq!(first.wait().await, Some(json!(1)));
        requests.abandon_all();
        assert_eq!(second.wait().await, None);
        let id = requests.register().id().to_owned();
        assert!(!requests.answer(&id, json!(3)), "the caller no longer waits");
    }
}
