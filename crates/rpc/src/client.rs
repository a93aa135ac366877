//! The client side of the API: typed calls that may overlap, and the notifications between them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::api::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::local::{self, ConnectError};
use crate::{
    Connection, ConnectionLimits, ErrorObject, Framing, Outbox, RequestId, RpcMessage, RpcNotification, RpcRequest,
    SendError,
};

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The server refused the call.
    #[error("{0}")]
    Refused(ErrorObject),
    /// The connection ended first; whether the call took effect is unknown.
    #[error(transparent)]
    Closed(#[from] ConnectionClosed),
    /// The call does not fit a frame.
    #[error("the call is larger than {max} bytes")]
    TooLarge {
        /// The maximum size of a frame in bytes.
        max: u32,
    },
    /// The parameters cannot be written as JSON.
    #[error("the parameters cannot be sent: {0}")]
    Params(#[source] serde_json::Error),
    /// The result does not have the type that the method returns.
    #[error("cannot read the answer: {0}")]
    Answer(#[source] serde_json::Error),
}

/// Why a connection ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the connection ended: {reason}")]
pub struct ConnectionClosed {
    /// The reason, as text for people.
    pub reason: String,
}

/// A connection to the owner of a session. Calls may be made from many tasks at once.
#[derive(Debug)]
pub struct RpcClient {
    outbox: Outbox,
    pending: Arc<PendingCalls>,
    next_id: AtomicU64,
    _router: JoinSet<()>,
}

/// How many notifications are buffered for a slow reader. When the buffer is full, the connection waits.
const NOTIFICATION_BUFFER: usize = 1024;

impl RpcClient {
    /// Connects to the listener on `path`.
    pub async fn connect(path: &Path) -> Result<(RpcClient, Notifications), ConnectError> {
        let (input, output) = local::connect(path).await?.into_split();
        Ok(RpcClient::on_streams(input, output))
    }

    /// Creates a client on the two halves of a byte stream.
    pub fn on_streams<R, W>(input: R, output: W) -> (RpcClient, Notifications)
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let connection = Connection::new(input, output, Framing::Lines, ConnectionLimits::LOCAL);
        let outbox = connection.outbox().clone();
        let pending = Arc::new(PendingCalls::default());
        let (sender, queue) = mpsc::channel(NOTIFICATION_BUFFER);
        let mut router = JoinSet::new();
        router.spawn(route_messages(connection, Arc::clone(&pending), sender));
        let notifications = Notifications { queue, pending: Arc::clone(&pending) };
        (RpcClient { outbox, pending, next_id: AtomicU64::new(1), _router: router }, notifications)
    }

    /// Calls a method. Dropping the future discards the answer but does not cancel the call.
    pub async fn call<R: DeserializeOwned>(&self, method: Method, params: impl Serialize) -> Result<R, CallError> {
        let params = serde_json::to_value(params).map_err(CallError::Params)?;
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (pending_call, answer) = PendingCall::register(&self.pending, number)?;
        let request = RpcRequest { id: RequestId::Number(number.into()), method: method.name().into(), params };
        match self.outbox.send(RpcMessage::Request(request)).await {
            Err(SendError::TooLarge { max }) => return Err(CallError::TooLarge { max }),
            // The router knows the reason and reports it to every pending call.
            Ok(()) | Err(SendError::Closed) => {}
        }
        let outcome = answer.await.map_err(|_| self.pending.reason())?;
        drop(pending_call);
        serde_json::from_value(outcome.map_err(CallError::Refused)?).map_err(CallError::Answer)
    }
}

/// Notifications from the owner. Read them while calls are in progress: when the buffer is full, answers wait too.
#[derive(Debug)]
pub struct Notifications {
    queue: mpsc::Receiver<RpcNotification>,
    pending: Arc<PendingCalls>,
}

impl Notifications {
    /// Returns the next notification, or why the connection ended.
    pub async fn next(&mut self) -> Result<RpcNotification, ConnectionClosed> {
        self.queue.recv().await.ok_or_else(|| self.pending.reason())
    }
}

/// Routes answers to their calls until the connection ends.
async fn route_messages<R: AsyncRead + Unpin>(
    mut connection: Connection<R>,
    pending: Arc<PendingCalls>,
    sender: mpsc::Sender<RpcNotification>,
) {
    let reason = loop {
        match connection.next().await {
            Ok(Some(Ok(RpcMessage::Response(response)))) => match (response.id, response.outcome) {
                (Some(id), outcome) => pending.answer(&id, outcome),
                (None, Err(error)) => break error.message,
                (None, Ok(_)) => break "the owner sent an answer without an id".to_owned(),
            },
            Ok(Some(Ok(RpcMessage::Notification(notification)))) => {
                // Fails if the caller dropped its `Notifications`.
                sender.send(notification).await.ok();
            }
            Ok(Some(Ok(RpcMessage::Request(_)))) => break "the owner sent a request; clients serve none".to_owned(),
            Ok(Some(Err(malformed))) => break malformed.error.message,
            Ok(None) => break "the owner closed it".to_owned(),
            Err(error) => break error.to_string(),
        }
    };
    pending.close_all(ConnectionClosed { reason });
}

type CallOutcome = Result<Value, ErrorObject>;

/// The calls that wait for an answer.
#[derive(Debug)]
struct PendingCalls(Mutex<PendingState>);

#[derive(Debug)]
enum PendingState {
    Open(HashMap<u64, oneshot::Sender<CallOutcome>>),
    Closed(ConnectionClosed),
}

impl Default for PendingCalls {
    fn default() -> PendingCalls {
        PendingCalls(Mutex::new(PendingState::Open(HashMap::new())))
    }
}

impl PendingCalls {
    fn answer(&self, id: &RequestId, outcome: CallOutcome) {
        let number = match id {
            RequestId::Number(number) => number.as_u64(),
            RequestId::Text(_) => None,
        };
        if let PendingState::Open(calls) = &mut *self.state()
            && let Some(call) = number.and_then(|number| calls.remove(&number))
        {
            // Fails if the caller no longer waits.
            call.send(outcome).ok();
        }
    }

    /// Ends every waiting call by dropping its sender.
    fn close_all(&self, why: ConnectionClosed) {
        *self.state() = PendingState::Closed(why);
    }

    fn reason(&self) -> ConnectionClosed {
        match &*self.state() {
            PendingState::Closed(why) => why.clone(),
            PendingState::Open(_) => ConnectionClosed { reason: "the client was dropped".into() },
        }
    }

    fn state(&self) -> MutexGuard<'_, PendingState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An entry in the pending calls, removed on drop.
struct PendingCall<'a> {
    pending: &'a PendingCalls,
    number: u64,
}

impl<'a> PendingCall<'a> {
    fn register(
        pending: &'a PendingCalls,
        number: u64,
    ) -> Result<(PendingCall<'a>, oneshot::Receiver<CallOutcome>), ConnectionClosed> {
        let (sender, receiver) = oneshot::channel();
        match &mut *pending.state() {
            PendingState::Open(calls) => calls.insert(number, sender),
            PendingState::Closed(why) => return Err(why.clone()),
        };
        Ok((PendingCall { pending, number }, receiver))
    }
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        if let PendingState::Open(calls) = &mut *self.pending.state() {
            calls.remove(&self.number);
        }
    }
}
