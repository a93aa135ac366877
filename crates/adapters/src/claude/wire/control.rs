//! Requests to the client: each has its own id, which routes the response to its caller.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::writer::ClientWriter;

const INPUT_CLOSED: &str = "the client has closed its input";

type ControlResult = Result<Value, String>;

/// Sends requests to the client, and answers its requests.
#[derive(Debug)]
pub(in crate::claude) struct ControlChannel {
    writer: ClientWriter,
    next_id: AtomicU64,
    waiting: Mutex<HashMap<String, oneshot::Sender<ControlResult>>>,
    /// Cancelled when the client no longer answers.
    closed: CancellationToken,
}

impl ControlChannel {
    /// Creates a channel on a writer.
    pub(in crate::claude) fn new(writer: ClientWriter) -> ControlChannel {
        ControlChannel {
            writer,
            next_id: AtomicU64::new(1),
            waiting: Mutex::default(),
            closed: CancellationToken::new(),
        }
    }

    /// The writer for frames.
    pub(in crate::claude) fn writer(&self) -> &ClientWriter {
        &self.writer
    }

    /// Sends a request and waits for the answer; dropping the future cancels the request.
    pub(in crate::claude) async fn request(&self, request: Value) -> ControlResult {
        let id = format!("bosun-{}", self.next_id.fetch_add(1, Ordering::Relaxed));
        let frame = json!({ "type": "control_request", "request_id": id, "request": request });
        let (sender, answer) = oneshot::channel();
        if self.is_closed() {
            return Err(INPUT_CLOSED.into());
        }
        self.waiting().insert(id.clone(), sender);
        let _pending = PendingControlRequest { control: self, id };
        self.writer.send_exact(&frame).await.map_err(|why| format!("cannot send a request to the client: {why}"))?;
        tokio::select! {
            answer = answer => answer.unwrap_or_else(|_| Err("the client does not answer".into())),
            () = self.closed.cancelled() => Err(INPUT_CLOSED.into()),
            () = self.writer.gone() => Err("the client has disconnected".into()),
        }
    }

    /// Records that the client no longer answers; it may still read frames.
    pub(in crate::claude) fn close(&self) {
        self.closed.cancel();
    }

    /// Whether the client no longer answers.
    pub(in crate::claude) fn is_closed(&self) -> bool {
        self.closed.is_cancelled() || self.writer.is_gone()
    }

    /// Passes a `control_response` to the request that waits for it; ignores it if there is none.
    pub(in crate::claude) fn receive_response(&self, frame: &Value) {
        let response = &frame["response"];
        let Some(waiter) = response["request_id"].as_str().and_then(|id| self.waiting().remove(id)) else { return };
        let answer = match response["subtype"].as_str() {
            Some("success") => Ok(response.get("response").cloned().unwrap_or_else(|| json!({}))),
            _error => Err(response["error"].as_str().unwrap_or("the client reported a failure").to_owned()),
        };
        // Fails if the caller no longer waits.
        waiter.send(answer).ok();
    }

    /// Answers a request of the client.
    pub(in crate::claude) async fn respond(&self, request: &str, answer: Result<Value, String>) {
        let response = match answer {
            Ok(body) => json!({ "subtype": "success", "request_id": request, "response": body }),
            Err(error) => json!({ "subtype": "error", "request_id": request, "error": error }),
        };
        // A client that is gone needs no answer.
        self.writer.send(json!({ "type": "control_response", "response": response })).await.ok();
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<ControlResult>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pending request. If it has no answer when dropped, it is cancelled.
struct PendingControlRequest<'a> {
    control: &'a ControlChannel,
    id: String,
}

impl Drop for PendingControlRequest<'_> {
    fn drop(&mut self) {
        if self.control.waiting().remove(&self.id).is_some() {
            self.control.writer.try_send(&json!({ "type": "control_cancel_request", "request_id": self.id }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::io::{AsyncBufReadExt, BufReader};
    use tokio::task::JoinSet;

    use super::*;

    #[tokio::test]
    async fn responses_reach_their_request_and_dropped_requests_are_cancelled() {
        let (client, output) = tokio::io::duplex(4096);
        let (writer, write) = ClientWriter::new(output);
        let control = Arc::new(ControlChannel::new(writer));
        let mut writing = JoinSet::new();
        writing.spawn(write);
        let mut lines = BufReader::new(client).lines();
        let requester = Arc::clone(&control);
        let mut requests = JoinSet::new();
        requests.spawn(async move { requester.request(json!({ "subtype": "first" })).await });
        let first: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        let id = &first["request_id"];
        control.receive_response(&json!({ "response": { "subtype": "success", "request_id": "else" } }));
        control.receive_response(
            &json!({ "response": { "subtype": "success", "request_id": id, "response": { "a": 1 } } }),
        );
        assert_eq!(requests.join_next().await.unwrap().unwrap(), Ok(json!({ "a": 1 })));

        let requester = Arc::clone(&control);
        requests.spawn(async move { requester.request(json!({ "subtype": "second" })).await });
        let second: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        requests.shutdown().await;
        let cancelled: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        assert_eq!(cancelled["type"], "control_cancel_request");
        assert_eq!(cancelled["request_id"], second["request_id"]);
    }
}
