//! The queue in which the calls of one session wait for each other. A call that releases its turn leaves the queue;
//! later calls of the same client still run after it.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use protocol::api::Method;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::{ClientHandle, RequestHandler, run_call};
use crate::ErrorObject;

/// The sending end of the queue. Its length is bounded by the number of calls that each client may have in progress.
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
    /// Creates a queue and the future that serves it.
    pub(super) fn new(server: Arc<dyn RequestHandler>) -> (CallQueue, impl Future<Output = ()>) {
        let (sender, mut calls) = mpsc::unbounded_channel::<QueuedCall>();
        let serving = async move {
            let mut released = JoinSet::new();
            while let Some(call) = calls.recv().await {
                while released.try_join_next().is_some() {}
                call.run(Arc::clone(&server), &mut released).await;
            }
        };
        (CallQueue(sender), serving)
    }

    /// Queues a call now; the returned future waits for its answer.
    pub(super) fn enqueue(
        &self,
        method: Method,
        params: Value,
        client: ClientHandle,
    ) -> impl Future<Output = Result<Value, ErrorObject>> + Send + use<> {
        let (reply, outcome) = oneshot::channel();
        // If the queue is no longer served, this drops the call and its reply channel.
        self.0.send(QueuedCall { method, params, client, reply }).ok();
        async move { outcome.await.unwrap_or_else(|_| Err(ErrorObject::internal("the session is closing"))) }
    }
}

impl QueuedCall {
    /// Runs the call to its end, or until it releases its turn.
    async fn run(self, server: Arc<dyn RequestHandler>, released: &mut JoinSet<()>) {
        let QueuedCall { method, params, client, reply } = self;
        let mut turn = Box::pin(client.turn());
        let guard = poll_fn(|cx| Poll::Ready(turn.as_mut().poll(cx))).await;
        let (client, turn_released) = client.for_call();
        let run = async move |guard| {
            let outcome = run_call(server, method, params, client).await;
            // An accepted call runs to its end even if its client has left.
            reply.send(outcome).ok();
            drop(guard);
        };
        match guard {
            Poll::Ready(guard) => {
                let mut running = Box::pin(run(guard));
                tokio::select! {
                    biased;
                    () = &mut running => return,
                    () = turn_released.cancelled() => {}
                }
                released.spawn(running);
            }
            // An earlier call of the same client has released its turn and is still running.
            Poll::Pending => drop(released.spawn(async move { run(turn.await).await })),
        }
    }
}
