//! The client at the other end: what it is told, what it is asked, and its answers.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use host::{Ids, TimeIds};
use rpc::{ErrorObject, Outbox, RequestId, RpcMessage, RpcNotification, RpcRequest, RpcResponse, SendError};
use serde_json::Value;
use tokio::sync::oneshot;
use uuid::Uuid;

type PeerAnswer = Result<Value, ErrorObject>;

/// The client at the other end.
#[derive(Debug)]
pub(crate) struct ClientPeer {
    /// What tells its connection from every other.
    connection_id: Uuid,
    outbox: Outbox,
    questions: Mutex<PeerRequests>,
}

/// What the client was asked and has not answered.
#[derive(Debug)]
enum PeerRequests {
    Open { next: u64, waiting: HashMap<u64, oneshot::Sender<PeerAnswer>> },
    Closed,
}

impl ClientPeer {
    pub(crate) fn new(outbox: Outbox) -> ClientPeer {
        ClientPeer {
            connection_id: TimeIds.uuid(),
            outbox,
            questions: Mutex::new(PeerRequests::Open { next: 1, waiting: HashMap::new() }),
        }
    }

    /// What tells its connection from every other.
    pub(crate) fn join_id(&self) -> String {
        self.connection_id.to_string()
    }

    /// Tells the client something, as fast as it reads; says whether it still does.
    pub(crate) async fn notify(&self, method: &str, params: Value) -> bool {
        let notification = RpcNotification { method: method.to_owned(), params };
        match self.outbox.send(RpcMessage::Notification(notification)).await {
            Ok(()) => true,
            Err(SendError::Closed) => false,
            Err(SendError::TooLarge { max }) => {
                tracing::warn!(method, max, "a client is not told something that fits no frame");
                true
            }
        }
    }

    /// Asks the client something and waits for its answer, until it leaves.
    pub(crate) async fn request(&self, method: &str, params: Value) -> PeerAnswer {
        let (place, answer) = PeerRequestSlot::take(self)?;
        let request = RpcRequest { id: RequestId::Number(place.number.into()), method: method.to_owned(), params };
        self.outbox.send(RpcMessage::Request(request)).await.map_err(ErrorObject::internal)?;
        answer.await.unwrap_or_else(|_| Err(client_left()))
    }

    /// Answers a call of the client's.
    pub(crate) async fn respond(&self, id: Option<RequestId>, outcome: PeerAnswer) {
        let response = RpcMessage::Response(RpcResponse { id: id.clone(), outcome });
        if let Err(SendError::TooLarge { max }) = self.outbox.send(response).await {
            let outcome = Err(ErrorObject::internal(format!("the answer is larger than {max} bytes: ask for less")));
            // A client that has left needs no answer.
            self.outbox.send(RpcMessage::Response(RpcResponse { id, outcome })).await.ok();
        }
    }

    /// Takes what the client answered; an answer to nothing is nobody's.
    pub(crate) fn receive_response(&self, response: RpcResponse) {
        let number = match response.id {
            Some(RequestId::Number(number)) => number.as_u64(),
            Some(RequestId::Text(_)) | None => None,
        };
        if let PeerRequests::Open { waiting, .. } = &mut *self.questions()
            && let Some(asked) = number.and_then(|number| waiting.remove(&number))
        {
            // Whoever asked may have lost patience.
            asked.send(response.outcome).ok();
        }
    }

    /// Ends every question, and lets none be asked any more.
    pub(crate) fn close(&self) {
        *self.questions() = PeerRequests::Closed;
    }

    fn questions(&self) -> MutexGuard<'_, PeerRequests> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn client_left() -> ErrorObject {
    ErrorObject::internal("the client left before it answered")
}

/// A question's place; dropping it gives the place back.
struct PeerRequestSlot<'a> {
    peer: &'a ClientPeer,
    number: u64,
}

impl<'a> PeerRequestSlot<'a> {
    fn take(peer: &'a ClientPeer) -> Result<(PeerRequestSlot<'a>, oneshot::Receiver<PeerAnswer>), ErrorObject> {
        let (sender, receiver) = oneshot::channel();
        match &mut *peer.questions() {
            PeerRequests::Open { next, waiting } => {
                let number = *next;
                *next += 1;
                waiting.insert(number, sender);
                Ok((PeerRequestSlot { peer, number }, receiver))
            }
            PeerRequests::Closed => Err(client_left()),
        }
    }
}

impl Drop for PeerRequestSlot<'_> {
    fn drop(&mut self) {
        if let PeerRequests::Open { waiting, .. } = &mut *self.peer.questions() {
            waiting.remove(&self.number);
        }
    }
}
