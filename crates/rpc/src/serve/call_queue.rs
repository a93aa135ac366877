//! The line in which calls of one session wait for each other. A call that lets others pass leaves the line; what its
//! own client sent after it still comes after it.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use protocol::api::Method;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::{ClientHandle, RequestHandler, run_call};
use crate::ErrorObject;

/// The end of the line. Its length is bounded by the calls each client may have under way.
#[derive(Debug, Clone)]
pub(super) struct CallQueue(mpsc::UnboundedSender<QueuedCall>);

#[derive(Debug)]
struct QueuedCall {
    method: Method,
    params: Value,
    client: ClientHandle,
    reply: oneshot::Sender<Result<Value, ErrorObject>>,
}

impl CallQueue {
    /// A line, and the future that serves it.
    pub(super) fn new(server: Arc<dyn RequestHandler>) -> (CallQueue, impl Future<Output = ()>) {
        let (line, mut jobs) = mpsc::unbounded_channel::<QueuedCall>();
        let serving = async move {
            let mut aside = JoinSet::new();
            while let Some(job) = jobs.recv().await {
                while aside.try_join_next().is_some() {}
                job.run(Arc::clone(&server), &mut aside).await;
            }
        };
        (CallQueue(line), serving)
    }

    /// Takes a place now; the answer comes when it is this call's turn.
    pub(super) fn enqueue(
        &self,
        method: Method,
        params: Value,
        client: ClientHandle,
    ) -> impl Future<Output = Result<Value, ErrorObject>> + Send + use<> {
        let (reply, outcome) = oneshot::channel();
        // A line that is not served any more drops the job, and with it the reply.
        self.0.send(QueuedCall { method, params, client, reply }).ok();
        async move { outcome.await.unwrap_or_else(|_| Err(ErrorObject::internal("the session is closing"))) }
    }
}

impl QueuedCall {
    /// Runs the call to its end, or until it lets others pass.
    async fn run(self, server: Arc<dyn RequestHandler>, aside: &mut JoinSet<()>) {
        let QueuedCall { method, params, client, reply } = self;
        let mut turn = Box::pin(client.turn());
        let held = poll_fn(|cx| Poll::Ready(turn.as_mut().poll(cx))).await;
        let (client, passed) = client.for_call();
        let run = async move |held| {
            let outcome = run_call(server, method, params, client).await;
            // A call that was taken is applied, even if its client has left.
            reply.send(outcome).ok();
            drop(held);
        };
        match held {
            Poll::Ready(held) => {
                let mut running = Box::pin(run(held));
                tokio::select! {
                    biased;
                    () = &mut running => return,
                    () = passed.cancelled() => {}
                }
                aside.spawn(running);
            }
            // An earlier call of the same client has let others pass.
            Poll::Pending => drop(aside.spawn(async move { run(turn.await).await })),
        }
    }
}
