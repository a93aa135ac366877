//! The client that sends requests to models itself: Bosun hands it each request, and it hands back the answer piece by
//! piece.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use host::{Ids, TimeIds};
use net::{CarriedAnswer, CarriedAnswerFuture, CarriedRequest, NetError, RequestCarrier};
use rpc::ErrorObject;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::peer::ClientPeer;

/// Maximum bytes of a piece of a request's body.
const MAX_PIECE_BYTES: usize = 4 << 20;

/// How many pieces of an answer may wait to be read; the client waits with further ones.
const ANSWER_BUFFER: usize = 256;

/// The client that sends requests to models, if one does, and the requests that it has not finished.
#[derive(Debug, Default)]
pub(crate) struct ClientInference {
    provider: Mutex<Option<Arc<ClientPeer>>>,
    exchanges: Mutex<HashMap<String, InferenceExchange>>,
    /// Tell the client when an answer is no longer wanted.
    watches: Mutex<JoinSet<()>>,
}

/// The beginning of an answer.
type AnswerHead = (u16, Vec<(String, String)>);

/// A request that the client has not finished. Dropping it ends the answer.
#[derive(Debug)]
struct InferenceExchange {
    head: Option<oneshot::Sender<Result<AnswerHead, String>>>,
    body: mpsc::Sender<Result<Bytes, String>>,
    _finished: oneshot::Sender<()>,
}

impl ClientInference {
    /// Has a client send the requests of all sessions that are opened from now on.
    pub(crate) fn set_provider(&self, peer: Arc<ClientPeer>) -> Result<(), ErrorObject> {
        let mut provider = lock(&self.provider);
        match &*provider {
            Some(other) if !Arc::ptr_eq(other, &peer) => {
                Err(ErrorObject::internal("Another client is already the LLM inference provider."))
            }
            Some(_) | None => {
                *provider = Some(peer);
                Ok(())
            }
        }
    }

    /// Ends the requests of a client that leaves.
    pub(crate) fn client_left(&self, peer: &ClientPeer) {
        let mut provider = lock(&self.provider);
        if provider.as_ref().is_some_and(|provider| std::ptr::eq(&**provider, peer)) {
            *provider = None;
            lock(&self.exchanges).clear();
        }
    }

    /// Carries the requests of a session, if a client does that.
    pub(crate) fn carrier(self: &Arc<Self>, session: &str) -> Option<Arc<dyn RequestCarrier>> {
        let carrier = || SessionRequests { inference: Arc::clone(self), session: session.to_owned() };
        lock(&self.provider).is_some().then(|| Arc::new(carrier()) as Arc<dyn RequestCarrier>)
    }

    /// Takes the beginning of an answer; returns whether it is wanted.
    pub(crate) fn start_answer(&self, request: &str, params: &Value) -> Result<bool, ErrorObject> {
        let status = params["status"].as_u64().and_then(|status| u16::try_from(status).ok());
        let status = status.ok_or_else(|| ErrorObject::bad_params("`status` is missing or not a status code"))?;
        let headers = params["headers"].as_object().into_iter().flatten().flat_map(|(name, values)| {
            let values = values.as_array().into_iter().flatten().filter_map(Value::as_str);
            values.map(move |value| (name.to_ascii_lowercase(), value.to_owned()))
        });
        let head = lock(&self.exchanges).get_mut(request).and_then(|exchange| exchange.head.take());
        Ok(head.is_some_and(|head| head.send(Ok((status, headers.collect()))).is_ok()))
    }

    /// Takes a piece of an answer, and waits while there are too many; returns whether it is wanted.
    pub(crate) async fn continue_answer(&self, request: &str, params: &Value) -> Result<bool, ErrorObject> {
        let piece = read_piece(params)?;
        let Some(body) = lock(&self.exchanges).get(request).map(|exchange| exchange.body.clone()) else {
            return Ok(false);
        };
        let mut is_wanted = true;
        if !piece.is_empty() {
            is_wanted = body.send(Ok(piece)).await.is_ok();
        }
        let error = params["error"].is_object().then(|| params["error"]["message"].as_str().unwrap_or("it failed"));
        if params["end"] == true || error.is_some() {
            let ended = lock(&self.exchanges).remove(request);
            let head = ended.and_then(|exchange| exchange.head);
            match (error, head) {
                // Fails if the answer is no longer wanted.
                (Some(why), Some(head)) => drop(head.send(Err(why.to_owned()))),
                (Some(why), None) => drop(body.send(Err(why.to_owned())).await),
                (None, _) => {}
            }
        }
        Ok(is_wanted)
    }

    async fn send(self: &Arc<Self>, session: &str, request: CarriedRequest) -> Result<CarriedAnswer, String> {
        let peer = lock(&self.provider).clone().ok_or("the client that sends requests to models has left")?;
        let id = TimeIds.uuid().to_string();
        let (head, started) = oneshot::channel();
        let (body, pieces) = mpsc::channel(ANSWER_BUFFER);
        let (finished, finish) = oneshot::channel();
        let exchange = InferenceExchange { head: Some(head), body: body.clone(), _finished: finished };
        lock(&self.exchanges).insert(id.clone(), exchange);
        self.watch(Arc::clone(&peer), id.clone(), body, finish);
        let text = String::from_utf8_lossy(&request.body).into_owned();
        call(&peer, "llmInference.httpRequestStart", request_head(&id, session, request)).await?;
        let mut rest = text.as_str();
        loop {
            let (piece, next) = rest.split_at(rest.floor_char_boundary(MAX_PIECE_BYTES));
            let chunk = json!({ "requestId": id, "data": piece, "binary": false, "end": next.is_empty() });
            call(&peer, "llmInference.httpRequestChunk", chunk).await?;
            if next.is_empty() {
                break;
            }
            rest = next;
        }
        let (status, headers) = started.await.map_err(|_| "the client left before it answered".to_owned())??;
        Ok(CarriedAnswer { status, headers, body: pieces })
    }

    /// Tells the client when an answer is no longer wanted.
    fn watch(
        self: &Arc<Self>,
        peer: Arc<ClientPeer>,
        id: String,
        body: mpsc::Sender<Result<Bytes, String>>,
        finish: oneshot::Receiver<()>,
    ) {
        let inference = Arc::clone(self);
        let mut watches = lock(&self.watches);
        while watches.try_join_next().is_some() {}
        watches.spawn(async move {
            tokio::select! {
                _ended = finish => {}
                () = body.closed() => {
                    if lock(&inference.exchanges).remove(&id).is_some() {
                        let cancel = json!({ "requestId": id, "data": "", "end": true, "cancel": true });
                        // A client that has left needs to know nothing.
                        drop(peer.request("llmInference.httpRequestChunk", cancel).await);
                    }
                }
            }
        });
    }
}

async fn call(peer: &ClientPeer, method: &str, params: Value) -> Result<(), String> {
    peer.request(method, params).await.map(drop).map_err(|error| error.in_one_line())
}

/// The announcement of a request, without its body.
fn request_head(id: &str, session: &str, request: CarriedRequest) -> Value {
    let CarriedRequest { method, url, headers, sender, .. } = request;
    let mut by_name: Map<String, Value> = Map::new();
    for (name, value) in headers {
        if let Some(values) = by_name.entry(name).or_insert_with(|| json!([])).as_array_mut() {
            values.push(value.into());
        }
    }
    let mut head = json!({
        "requestId": id,
        "sessionId": session,
        "method": method,
        "url": url,
        "headers": by_name,
        "transport": "http",
    });
    if let Some(agent) = sender {
        let parent = agent.rsplit_once('/').map(|(parent, _)| parent).filter(|parent| !parent.is_empty());
        let kind = if parent.is_some() { "conversation-subagent" } else { "conversation-agent" };
        head["interactionType"] = kind.into();
        if let Some(parent) = parent {
            head["parentAgentId"] = parent.into();
        }
        head["agentId"] = agent.into();
    }
    head
}

/// The bytes of a piece of an answer.
fn read_piece(params: &Value) -> Result<Bytes, ErrorObject> {
    let text = params["data"].as_str().unwrap_or_default();
    if params["binary"] != true {
        return Ok(Bytes::copy_from_slice(text.as_bytes()));
    }
    let decoded = data_encoding::BASE64.decode(text.as_bytes());
    decoded.map(Bytes::from).map_err(|_| ErrorObject::bad_params("`data` is not valid base64"))
}

/// Carries the requests of one session to the client.
#[derive(Debug)]
struct SessionRequests {
    inference: Arc<ClientInference>,
    session: String,
}

impl RequestCarrier for SessionRequests {
    fn carry(&self, request: CarriedRequest) -> CarriedAnswerFuture<'_> {
        Box::pin(async move {
            let sent = self.inference.send(&self.session, request).await;
            sent.map_err(|why| NetError::ConnectionLost { host: "the client".to_owned(), why })
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use rpc::{Connection, ConnectionLimits, Framing, RpcMessage, RpcResponse};
    use tokio::io::DuplexStream;

    use super::*;

    /// A client that sends requests to models, and what the adapter asks of it.
    struct ModelClient {
        inference: Arc<ClientInference>,
        carrier: Arc<dyn RequestCarrier>,
        peer: Arc<ClientPeer>,
        /// The client's end.
        wire: Connection<tokio::io::ReadHalf<DuplexStream>>,
        /// The adapter's end.
        adapter: Connection<tokio::io::ReadHalf<DuplexStream>>,
    }

    impl ModelClient {
        fn start() -> ModelClient {
            let (client, adapter) = tokio::io::duplex(1 << 16);
            let connect = |end| {
                let (input, output) = tokio::io::split(end);
                Connection::new(input, output, Framing::ContentLength, ConnectionLimits::LOCAL)
            };
            let (wire, adapter) = (connect(client), connect(adapter));
            let peer = Arc::new(ClientPeer::new(adapter.outbox().clone()));
            let inference = Arc::<ClientInference>::default();
            assert!(inference.carrier("a session").is_none(), "no client sends requests");
            inference.set_provider(Arc::clone(&peer)).unwrap();
            let carrier = inference.carrier("a session").unwrap();
            ModelClient { inference, carrier, peer, wire, adapter }
        }

        /// Reads the adapter's next request, and acknowledges it.
        async fn acknowledge(&mut self) -> (String, Value) {
            let Ok(Some(Ok(RpcMessage::Request(request)))) = self.wire.next().await else { panic!("no request") };
            let answer = RpcResponse { id: Some(request.id), outcome: Ok(json!({})) };
            self.wire.outbox().send(RpcMessage::Response(answer)).await.unwrap();
            let Ok(Some(Ok(RpcMessage::Response(response)))) = self.adapter.next().await else { panic!("no answer") };
            self.peer.receive_response(response);
            (request.method, request.params)
        }
    }

    fn request() -> CarriedRequest {
        CarriedRequest {
            method: "POST".into(),
            url: "https://models.test/v1/chat/completions".into(),
            headers: vec![("authorization".into(), "Bearer sk".into())],
            body: Bytes::from_static(b"{}"),
            sender: Some("/root/scout".into()),
        }
    }

    #[tokio::test]
    async fn a_client_sends_the_requests_to_models_itself() {
        let mut client = ModelClient::start();
        let carrier = Arc::clone(&client.carrier);
        let inference = Arc::clone(&client.inference);
        let serving = async {
            let (method, head) = client.acknowledge().await;
            assert_eq!(method, "llmInference.httpRequestStart");
            assert_eq!(head["headers"]["authorization"], json!(["Bearer sk"]));
            assert_eq!((&head["sessionId"], &head["agentId"]), (&json!("a session"), &json!("/root/scout")));
            assert_eq!((&head["parentAgentId"], &head["transport"]), (&json!("/root"), &json!("http")));
            let (_method, body) = client.acknowledge().await;
            assert_eq!((&body["data"], &body["end"]), (&json!("{}"), &json!(true)));
            let id = head["requestId"].as_str().unwrap().to_owned();
            let start = json!({ "status": 201, "headers": { "X-A": ["b"] } });
            assert!(inference.start_answer(&id, &start).unwrap());
            assert!(!inference.start_answer(&id, &start).unwrap(), "it has begun");
            let piece = json!({ "data": "aGk=", "binary": true });
            assert!(inference.continue_answer(&id, &piece).await.unwrap());
            let end = json!({ "data": "!", "end": true });
            assert!(inference.continue_answer(&id, &end).await.unwrap());
            assert!(!inference.continue_answer(&id, &end).await.unwrap(), "it has ended");
        };
        let (answer, ()) = tokio::join!(carrier.carry(request()), serving);
        let CarriedAnswer { status, headers, mut body } = answer.unwrap();
        assert_eq!((status, headers), (201, vec![("x-a".to_owned(), "b".to_owned())]));
        let (first, second) = (body.recv().await.unwrap().unwrap(), body.recv().await.unwrap().unwrap());
        assert_eq!((&first[..], &second[..]), (&b"hi"[..], &b"!"[..]));
        assert_eq!(body.recv().await, None);
    }

    #[tokio::test]
    async fn a_request_that_is_no_longer_wanted_is_cancelled_at_the_client() {
        let mut client = ModelClient::start();
        let carrier = Arc::clone(&client.carrier);
        let mut carrying = carrier.carry(request());
        let id = tokio::select! {
            _answer = &mut carrying => panic!("nobody answers"),
            (_method, head) = async { let head = client.acknowledge().await; client.acknowledge().await; head } => {
                head["requestId"].clone()
            }
        };
        drop(carrying);
        let (method, cancel) = client.acknowledge().await;
        assert_eq!(method, "llmInference.httpRequestChunk");
        assert_eq!((&cancel["requestId"], &cancel["cancel"]), (&id, &json!(true)));
    }

    #[tokio::test]
    async fn a_client_that_fails_or_leaves_ends_its_requests() {
        let mut client = ModelClient::start();
        let (carrier, inference) = (Arc::clone(&client.carrier), Arc::clone(&client.inference));
        let failing = async {
            let (_method, head) = client.acknowledge().await;
            client.acknowledge().await;
            let id = head["requestId"].as_str().unwrap().to_owned();
            let failed = json!({ "data": "", "end": true, "error": { "message": "out of order" } });
            inference.continue_answer(&id, &failed).await.unwrap();
        };
        let (answer, ()) = tokio::join!(carrier.carry(request()), failing);
        assert!(answer.unwrap_err().to_string().contains("out of order"));
        client.inference.client_left(&client.peer);
        assert!(carrier.carry(request()).await.unwrap_err().to_string().contains("has left"));
    }
}
