//! The client at the other end: what it is told, what it is asked, and its answers.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use host::{Ids, TimeIds};
use rpc::{ErrorObject, Id, Message, Notification, Outbox, Request, Response, SendError};
use serde_json::Value;
use tokio::sync::oneshot;
use uuid::Uuid;

type Outcome = Result<Value, ErrorObject>;

/// The client at the other end.
#[derive(Debug)]
pub(crate) struct Peer {
    /// What tells its connection from every other.
    join: Uuid,
    outbox: Outbox,
    questions: Mutex<Questions>,
}

/// What the client was asked and has not answered.
#[derive(Debug)]
enum Questions {
    Open { next: u64, waiting: HashMap<u64, oneshot::Sender<Outcome>> },
    Closed,
}

impl Peer {
    pub(crate) fn new(outbox: Outbox) -> Peer {
        Peer {
            join: TimeIds.uuid(),
            outbox,
            questions: Mutex::new(Questions::Open { next: 1, waiting: HashMap::new() }),
        }
    }

    /// What tells its connection from every other.
    pub(crate) fn join_id(&self) -> String {
        self.join.to_string()
    }

    /// Tells the client something, as fast as it reads; says whether it still does.
    pub(crate) async fn tell(&self, method: &str, params: Value) -> bool {
        let notification = Notification { method: method.to_owned(), params };
        match self.outbox.send(Message::Notification(notification)).await {
            Ok(()) => true,
            Err(SendError::Closed) => false,
            Err(SendError::TooLarge { max }) => {
                tracing::warn!(method, max, "a client is not told something that fits no frame");
                true
            }
        }
    }

    /// Asks the client something and waits for its answer, until it leaves.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Outcome {
        let (place, answer) = Place::take(self)?;
        let request = Request { id: Id::Number(place.number.into()), method: method.to_owned(), params };
        self.outbox.send(Message::Request(request)).await.map_err(ErrorObject::internal)?;
        answer.await.unwrap_or_else(|_| Err(left()))
    }

    /// Answers a call of the client's.
    pub(crate) async fn answer(&self, id: Option<Id>, outcome: Outcome) {
        let response = Message::Response(Response { id: id.clone(), outcome });
        if let Err(SendError::TooLarge { max }) = self.outbox.send(response).await {
            let outcome = Err(ErrorObject::internal(format!("the answer is larger than {max} bytes: ask for less")));
            // A client that has left needs no answer.
            self.outbox.send(Message::Response(Response { id, outcome })).await.ok();
        }
    }

    /// Takes what the client answered; an answer to nothing is nobody's.
    pub(crate) fn hear(&self, response: Response) {
        let number = match response.id {
            Some(Id::Number(number)) => number.as_u64(),
            Some(Id::Text(_)) | None => None,
        };
        if let Questions::Open { waiting, .. } = &mut *self.questions()
            && let Some(asked) = number.and_then(|number| waiting.remove(&number))
        {
            // Whoever asked may have lost patience.
            asked.send(response.outcome).ok();
        }
    }

    /// Ends every question, and lets none be asked any more.
    pub(crate) fn leave(&self) {
        *self.questions() = Questions::Closed;
    }

    fn questions(&self) -> MutexGuard<'_, Questions> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn left() -> ErrorObject {
    ErrorObject::internal("the client left before it answered")
}

/// A question's place; dropping it gives the place back.
struct Place<'a> {
    peer: &'a Peer,
    number: u64,
}

impl<'a> Place<'a> {
    fn take(peer: &'a Peer) -> Result<(Place<'a>, oneshot::Receiver<Outcome>), ErrorObject> {
        let (sender, receiver) = oneshot::channel();
        match &mut *peer.questions() {
            Questions::Open { next, waiting } => {
                let number = *next;
                *next += 1;
                waiting.insert(number, sender);
                Ok((Place { peer, number }, receiver))
            }
            Questions::Closed => Err(left()),
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Questions::Open { waiting, .. } = &mut *self.peer.questions() {
            waiting.remove(&self.number);
        }
    }
}
