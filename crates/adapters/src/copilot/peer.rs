//! The client at the other end of a connection: notifications, requests and responses.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use host::{Ids, TimeIds};
use rpc::{ErrorObject, Outbox, RequestId, RpcMessage, RpcNotification, RpcRequest, RpcResponse, SendError};
use serde_json::Value;
use tokio::sync::oneshot;
use uuid::Uuid;

type PeerAnswer = Result<Value, ErrorObject>;

/// The client at the other end of a connection.
#[derive(Debug)]
pub(crate) struct ClientPeer {
    /// Identifies the connection.
    connection_id: Uuid,
    outbox: Outbox,
    requests: Mutex<PeerRequests>,
}

/// Requests that the client has not answered.
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
            requests: Mutex::new(PeerRequests::Open { next: 1, waiting: HashMap::new() }),
        }
    }

    /// The unique id of the connection.
    pub(crate) fn connection_id(&self) -> String {
        self.connection_id.to_string()
    }

    /// Sends a notification, and waits while the outbox is full; returns whether the client is still connected.
    pub(crate) async fn notify(&self, method: &str, params: Value) -> bool {
        let notification = RpcNotification { method: method.to_owned(), params };
        match self.outbox.send(RpcMessage::Notification(notification)).await {
            Ok(()) => true,
            Err(SendError::Closed) => false,
            Err(SendError::TooLarge { max }) => {
                tracing::warn!(method, max, "dropping a notification that is too large for a frame");
                true
            }
        }
    }

    /// Sends a request, and waits for the answer or until the client leaves.
    pub(crate) async fn request(&self, method: &str, params: Value) -> PeerAnswer {
        let (entry, answer) = PeerRequestEntry::register(self)?;
        let request = RpcRequest { id: RequestId::Number(entry.number.into()), method: method.to_owned(), params };
        self.outbox.send(RpcMessage::Request(request)).await.map_err(ErrorObject::internal)?;
        answer.await.unwrap_or_else(|_| Err(client_left()))
    }

    /// Answers a call of the client.
    pub(crate) async fn respond(&self, id: Option<RequestId>, outcome: PeerAnswer) {
        let response = RpcMessage::Response(RpcResponse { id: id.clone(), outcome });
        if let Err(SendError::TooLarge { max }) = self.outbox.send(response).await {
            let outcome = Err(ErrorObject::internal(format!("the answer is larger than {max} bytes: ask for less")));
            // A client that has left needs no answer.
            self.outbox.send(RpcMessage::Response(RpcResponse { id, outcome })).await.ok();
        }
    }

    /// Passes a response to the request that waits for it; ignores it if there is none.
    pub(crate) fn receive_response(&self, response: RpcResponse) {
        let number = match response.id {
            Some(RequestId::Number(number)) => number.as_u64(),
            Some(RequestId::Text(_)) | None => None,
        };
        if let PeerRequests::Open { waiting, .. } = &mut *self.lock_requests()
            && let Some(request) = number.and_then(|number| waiting.remove(&number))
        {
            // Fails if the caller no longer waits.
            request.send(response.outcome).ok();
        }
    }

    /// Ends all pending requests, and refuses new ones.
    pub(crate) fn close(&self) {
        *self.lock_requests() = PeerRequests::Closed;
    }

    fn lock_requests(&self) -> MutexGuard<'_, PeerRequests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn client_left() -> ErrorObject {
    ErrorObject::internal("the client left before it answered")
}

/// A request's entry in the pending requests, removed on drop.
struct PeerRequestEntry<'a> {
    peer: &'a ClientPeer,
    number: u64,
}

impl<'a> PeerRequestEntry<'a> {
    fn register(peer: &'a ClientPeer) -> Result<(PeerRequestEntry<'a>, oneshot::Receiver<PeerAnswer>), ErrorObject> {
        let (sender, receiver) = oneshot::channel();
        match &mut *peer.lock_requests() {
            PeerRequests::Open { next, waiting } => {
                let number = *next;
                *next += 1;
                waiting.insert(number, sender);
                Ok((PeerRequestEntry { peer, number }, receiver))
            }
            PeerRequests::Closed => Err(client_left()),
        }
    }
}

impl Drop for PeerRequestEntry<'_> {
    fn drop(&mut self) {
        if let PeerRequests::Open { waiting, .. } = &mut *self.peer.lock_requests() {
            waiting.remove(&self.number);
        }
    }
}
