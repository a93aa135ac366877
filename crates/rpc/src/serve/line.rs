//! The line in which calls of one session wait for each other.

use std::sync::Arc;

use protocol::api::Method;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::{ClientHandle, Serve, answer};
use crate::ErrorObject;

/// The end of the line. Its length is bounded by the calls each client may have under way.
#[derive(Debug, Clone)]
pub(super) struct Line(mpsc::UnboundedSender<Job>);

#[derive(Debug)]
struct Job {
    method: Method,
    params: Value,
    client: ClientHandle,
    reply: oneshot::Sender<Result<Value, ErrorObject>>,
}

impl Line {
    /// A line, and the future that serves it.
    pub(super) fn new(server: Arc<dyn Serve>) -> (Line, impl Future<Output = ()>) {
        let (line, mut jobs) = mpsc::unbounded_channel::<Job>();
        let serving = async move {
            while let Some(Job { method, params, client, reply }) = jobs.recv().await {
                let outcome = answer(Arc::clone(&server), method, params, client).await;
                // A call that was taken is applied, even if its client has left.
                reply.send(outcome).ok();
            }
        };
        (Line(line), serving)
    }

    /// Takes a place now; the answer comes when it is this call's turn.
    pub(super) fn join(
        &self,
        method: Method,
        params: Value,
        client: ClientHandle,
    ) -> impl Future<Output = Result<Value, ErrorObject>> + Send + use<> {
        let (reply, outcome) = oneshot::channel();
        // A line that is not served any more drops the job, and with it the reply.
        self.0.send(Job { method, params, client, reply }).ok();
        async move { outcome.await.unwrap_or_else(|_| Err(ErrorObject::internal("the session is closing"))) }
    }
}
