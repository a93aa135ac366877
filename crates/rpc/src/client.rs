//! The calling side of the API: typed calls that may overlap, and the notifications between them.

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
use crate::{Connection, ErrorObject, Framing, Id, Limits, Message, Notification, Outbox, Request, SendError};

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The callee said no.
    #[error("{0}")]
    Refused(ErrorObject),
    /// The connection ended first; whether the call took effect is unknown.
    #[error(transparent)]
    Closed(#[from] Closed),
    /// The call does not fit a frame.
    #[error("the call is larger than {max} bytes")]
    TooLarge {
        /// What a frame holds.
        max: u32,
    },
    /// The parameters cannot be written as JSON.
    #[error("the parameters cannot be sent: {0}")]
    Params(#[source] serde_json::Error),
    /// The result is not what the method gives.
    #[error("the answer is not understood: {0}")]
    Answer(#[source] serde_json::Error),
}

/// Why a connection ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the connection ended: {reason}")]
pub struct Closed {
    /// In words.
    pub reason: String,
}

/// A connection to the owner of a session. Calls may be made from many tasks at once.
#[derive(Debug)]
pub struct Client {
    outbox: Outbox,
    pending: Arc<Pending>,
    next_id: AtomicU64,
    _router: JoinSet<()>,
}

/// How many notifications are held for a reader that is late; then the connection waits for it.
const HELD: usize = 1024;

impl Client {
    /// Connects to the listener on `path`.
    pub async fn connect(path: &Path) -> Result<(Client, Notifications), ConnectError> {
        let (input, output) = local::connect(path).await?.into_split();
        Ok(Client::over(input, output))
    }

    /// Speaks over the two halves of a byte stream.
    pub fn over<R, W>(input: R, output: W) -> (Client, Notifications)
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let connection = Connection::new(input, output, Framing::Lines, Limits::LOCAL);
        let outbox = connection.outbox().clone();
        let pending = Arc::new(Pending::default());
        let (held, queue) = mpsc::channel(HELD);
        let mut router = JoinSet::new();
        router.spawn(route(connection, Arc::clone(&pending), held));
        let notifications = Notifications { queue, pending: Arc::clone(&pending) };
        (Client { outbox, pending, next_id: AtomicU64::new(1), _router: router }, notifications)
    }

    /// Calls a method. Dropping the future forgets the answer, not the call.
    pub async fn call<R: DeserializeOwned>(&self, method: Method, params: impl Serialize) -> Result<R, CallError> {
        let params = serde_json::to_value(params).map_err(CallError::Params)?;
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (ticket, answer) = Ticket::take(&self.pending, number)?;
        let request = Request { id: Id::Number(number.into()), method: method.name().into(), params };
        match self.outbox.send(Message::Request(request)).await {
            Err(SendError::TooLarge { max }) => return Err(CallError::TooLarge { max }),
            // The router knows why, and answers every pending call with it.
            Ok(()) | Err(SendError::Closed) => {}
        }
        let outcome = answer.await.map_err(|_| self.pending.reason())?;
        drop(ticket);
        serde_json::from_value(outcome.map_err(CallError::Refused)?).map_err(CallError::Answer)
    }
}

/// What the owner says unasked. Read it while calls are under way: when it is full, answers wait behind it.
#[derive(Debug)]
pub struct Notifications {
    queue: mpsc::Receiver<Notification>,
    pending: Arc<Pending>,
}

impl Notifications {
    /// The next one, or why there will be none.
    pub async fn next(&mut self) -> Result<Notification, Closed> {
        self.queue.recv().await.ok_or_else(|| self.pending.reason())
    }
}

/// Brings answers to their calls until the connection ends.
async fn route<R: AsyncRead + Unpin>(
    mut connection: Connection<R>,
    pending: Arc<Pending>,
    held: mpsc::Sender<Notification>,
) {
    let reason = loop {
        match connection.next().await {
            Ok(Some(Ok(Message::Response(response)))) => match (response.id, response.outcome) {
                (Some(id), outcome) => pending.answer(&id, outcome),
                (None, Err(error)) => break error.message,
                (None, Ok(_)) => break "the owner answered nobody's call".to_owned(),
            },
            Ok(Some(Ok(Message::Notification(notification)))) => {
                // A caller that dropped its notifications wants none.
                held.send(notification).await.ok();
            }
            Ok(Some(Ok(Message::Request(_)))) => break "the owner made a call, and clients serve none".to_owned(),
            Ok(Some(Err(malformed))) => break malformed.error.message,
            Ok(None) => break "the owner closed it".to_owned(),
            Err(error) => break error.to_string(),
        }
    };
    pending.close(Closed { reason });
}

type Outcome = Result<Value, ErrorObject>;

/// The calls that wait for an answer.
#[derive(Debug)]
struct Pending(Mutex<State>);

#[derive(Debug)]
enum State {
    Open(HashMap<u64, oneshot::Sender<Outcome>>),
    Closed(Closed),
}

impl Default for Pending {
    fn default() -> Pending {
        Pending(Mutex::new(State::Open(HashMap::new())))
    }
}

impl Pending {
    fn answer(&self, id: &Id, outcome: Outcome) {
        let number = match id {
            Id::Number(number) => number.as_u64(),
            Id::Text(_) => None,
        };
        if let State::Open(calls) = &mut *self.state()
            && let Some(call) = number.and_then(|number| calls.remove(&number))
        {
            // The caller may have lost patience.
            call.send(outcome).ok();
        }
    }

    /// Ends every waiting call by dropping its sender.
    fn close(&self, why: Closed) {
        *self.state() = State::Closed(why);
    }

    fn reason(&self) -> Closed {
        match &*self.state() {
            State::Closed(why) => why.clone(),
            State::Open(_) => Closed { reason: "the client was dropped".into() },
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the pending calls; dropping it gives the place back.
struct Ticket<'a> {
    pending: &'a Pending,
    number: u64,
}

impl<'a> Ticket<'a> {
    fn take(pending: &'a Pending, number: u64) -> Result<(Ticket<'a>, oneshot::Receiver<Outcome>), Closed> {
        let (sender, receiver) = oneshot::channel();
        match &mut *pending.state() {
            State::Open(calls) => calls.insert(number, sender),
            State::Closed(why) => return Err(why.clone()),
        };
        Ok((Ticket { pending, number }, receiver))
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        if let State::Open(calls) = &mut *self.pending.state() {
            calls.remove(&self.number);
        }
    }
}
