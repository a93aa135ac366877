//! A connected client, as the one who answers its calls sees it.

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::{ErrorObject, Outbox, RpcMessage, RpcNotification, SendError};

/// A connected client. It may be kept; when the client has left, sending fails.
#[derive(Debug, Clone)]
pub struct ClientHandle {
    outbox: Outbox,
    work: TaskTracker,
    gone: CancellationToken,
    /// Held by the call of this client that is being applied: those after it wait, in their order.
    turn: Arc<Mutex<()>>,
    /// Cancelled when the call that has this handle lets others pass.
    turn_released: CancellationToken,
}

impl ClientHandle {
    pub(super) fn new(outbox: Outbox, gone: CancellationToken) -> ClientHandle {
        let (turn, passed) = (Arc::default(), CancellationToken::new());
        ClientHandle { outbox, work: TaskTracker::new(), gone, turn, turn_released: passed }
    }

    /// Lets the calls of other clients be applied before this one, which waits for something slow. What this client sent
    /// after it still comes after it.
    pub fn release_turn(&self) {
        self.turn_released.cancel();
    }

    /// The turn of the next call of this client.
    pub(super) fn turn(&self) -> impl Future<Output = OwnedMutexGuard<()>> + Send + use<> {
        Arc::clone(&self.turn).lock_owned()
    }

    /// The handle for a call in the line, and what tells that it lets others pass.
    pub(super) fn for_call(self) -> (ClientHandle, CancellationToken) {
        let passed = CancellationToken::new();
        (ClientHandle { turn_released: passed.clone(), ..self }, passed)
    }

    /// Tells the client something at once. A client that has not read what it was told before is closed.
    pub fn notify(&self, method: &str, params: &impl Serialize) -> Result<(), SendError> {
        self.outbox.push(self.compose(method, params)?)
    }

    /// Tells the client something as fast as it reads: for replays, which may be long.
    pub async fn deliver(&self, method: &str, params: &impl Serialize) -> Result<(), SendError> {
        self.outbox.send(self.compose(method, params)?).await
    }

    /// Tells the client what other clients of the session are told too, as fast as it reads.
    pub async fn send_shared(&self, frame: Arc<[u8]>) -> Result<(), SendError> {
        self.outbox.send_shared(frame).await
    }

    /// A notification as a frame, for clients of the same session.
    pub fn frame(&self, method: &str, params: &impl Serialize) -> Result<Arc<[u8]>, SendError> {
        /// Written as it is, without a tree of values in between.
        #[derive(Serialize)]
        struct NotificationFrame<'a, P> {
            jsonrpc: &'static str,
            method: &'a str,
            params: &'a P,
        }
        let told = serde_json::to_vec(&NotificationFrame { jsonrpc: "2.0", method, params });
        told.map(|json| self.outbox.wrap(json)).map_err(|error| self.close_on_error(method, &error))
    }

    /// Runs `work`, a subscription say, until it ends or the client leaves.
    pub fn attach(&self, work: impl Future<Output = ()> + Send + 'static) {
        let gone = self.gone.clone();
        self.work.spawn(async move { gone.run_until_cancelled(work).await });
    }

    /// Ends when the client has left.
    pub async fn gone(&self) {
        self.gone.cancelled().await;
    }

    /// Ends the attached work and waits for it.
    pub(super) async fn disconnect(&self) {
        self.gone.cancel();
        self.work.close();
        self.work.wait().await;
    }

    fn compose(&self, method: &str, params: &impl Serialize) -> Result<RpcMessage, SendError> {
        let params = serde_json::to_value(params).map_err(|error| self.close_on_error(method, &error))?;
        Ok(RpcMessage::Notification(RpcNotification { method: method.into(), params }))
    }

    /// A stream with a hole is worse than one that ends.
    fn close_on_error(&self, method: &str, error: &serde_json::Error) -> SendError {
        self.outbox.close(ErrorObject::internal(format!("{method} cannot be sent: {error}")));
        SendError::Closed
    }
}
