//! A connected client, as seen by the request handler.

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::{ConnectionLimits, ErrorObject, Framing, Outbox, RpcMessage, RpcNotification, SendError};

/// A connected client. The handle may be kept; when the client has left, sending fails.
#[derive(Debug, Clone)]
pub struct ClientHandle {
    outbox: Outbox,
    work: TaskTracker,
    gone: CancellationToken,
    /// Held by this client's running call; its later calls wait in order.
    turn: Arc<Mutex<()>>,
    /// Cancelled when the call that has this handle releases its turn.
    turn_released: CancellationToken,
}

impl ClientHandle {
    pub(super) fn new(outbox: Outbox, gone: CancellationToken) -> ClientHandle {
        let (turn, turn_released) = (Arc::default(), CancellationToken::new());
        ClientHandle { outbox, work: TaskTracker::new(), gone, turn, turn_released }
    }

    /// A client in this process, which gets only the answer to its call: everything that is sent to it is dropped.
    pub(super) fn without_connection() -> ClientHandle {
        let (outbox, _unused_writer) = Outbox::new(Framing::Lines, ConnectionLimits::LOCAL);
        ClientHandle::new(outbox, CancellationToken::new())
    }

    /// Lets calls of other clients run while this call waits for something slow. Later calls of this client still wait.
    pub fn release_turn(&self) {
        self.turn_released.cancel();
    }

    /// Waits for the turn of this client's next call.
    pub(super) fn turn(&self) -> impl Future<Output = OwnedMutexGuard<()>> + Send + use<> {
        Arc::clone(&self.turn).lock_owned()
    }

    /// The handle for a queued call, and a token that is cancelled when the call releases its turn.
    pub(super) fn for_call(self) -> (ClientHandle, CancellationToken) {
        let turn_released = CancellationToken::new();
        (ClientHandle { turn_released: turn_released.clone(), ..self }, turn_released)
    }

    /// Sends a notification at once. A client whose queue is full is closed.
    pub fn notify(&self, method: &str, params: &impl Serialize) -> Result<(), SendError> {
        self.outbox.push(self.notification_message(method, params)?)
    }

    /// Sends a notification as fast as the client reads: for replays, which may be long.
    pub async fn deliver(&self, method: &str, params: &impl Serialize) -> Result<(), SendError> {
        self.outbox.send(self.notification_message(method, params)?).await
    }

    /// Sends a frame that several clients of the session receive, as fast as this one reads.
    pub async fn send_shared(&self, frame: Arc<[u8]>) -> Result<(), SendError> {
        self.outbox.send_shared(frame).await
    }

    /// Encodes a notification once, for all clients of the session.
    pub fn encode_frame(&self, method: &str, params: &impl Serialize) -> Result<Arc<[u8]>, SendError> {
        /// Serialized directly, without a `Value` in between.
        #[derive(Serialize)]
        struct NotificationFrame<'a, P> {
            jsonrpc: &'static str,
            method: &'a str,
            params: &'a P,
        }
        let json = serde_json::to_vec(&NotificationFrame { jsonrpc: "2.0", method, params });
        json.map(|json| self.outbox.wrap(json)).map_err(|error| self.close_on_error(method, &error))
    }

    /// Runs `work`, such as a subscription, until it ends or the client leaves.
    pub fn attach(&self, work: impl Future<Output = ()> + Send + 'static) {
        let gone = self.gone.clone();
        self.work.spawn(async move { gone.run_until_cancelled(work).await });
    }

    /// Waits until the client has left.
    pub async fn gone(&self) {
        self.gone.cancelled().await;
    }

    /// Ends the attached work and waits for it.
    pub(super) async fn disconnect(&self) {
        self.gone.cancel();
        self.work.close();
        self.work.wait().await;
    }

    fn notification_message(&self, method: &str, params: &impl Serialize) -> Result<RpcMessage, SendError> {
        let params = serde_json::to_value(params).map_err(|error| self.close_on_error(method, &error))?;
        Ok(RpcMessage::Notification(RpcNotification { method: method.into(), params }))
    }

    /// Closes the connection: a stream with a gap is worse than one that ends.
    fn close_on_error(&self, method: &str, error: &serde_json::Error) -> SendError {
        self.outbox.close(ErrorObject::internal(format!("{method} cannot be sent: {error}")));
        SendError::Closed
    }
}
