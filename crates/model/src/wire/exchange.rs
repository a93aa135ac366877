//! Sends one request and reads its answer piece by piece.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use net::{HttpResponse, PostRequest, RequestHeader, sse};
use protocol::{ModelFault, Timestamp};
use tokio::time::timeout;

use super::delta_queue::StreamError;
use super::endpoint::ModelEndpoint;
use super::events::AnswerStream;
use super::fault;
use crate::{Delta, Deltas, ModelError, ModelReply, Provider, ProviderKey, TokenSource};

/// A request that is about to be sent.
pub(super) struct OutgoingRequest {
    pub(super) client: net::HttpClient,
    pub(super) post: PostRequest,
    pub(super) endpoint: Arc<ModelEndpoint>,
    /// The time of the request.
    pub(super) at: Timestamp,
}

impl OutgoingRequest {
    /// Sends the request and returns the stream of its answer.
    pub(super) fn into_deltas(self) -> Deltas {
        stream::unfold(ExchangeState::Send(Box::new(self)), ExchangeState::next).boxed()
    }

    async fn send(self) -> Result<AnswerReader, ModelError> {
        let OutgoingRequest { client, mut post, mut endpoint, at } = self;
        if let Some(TokenSource(tokens)) = &endpoint.config.tokens {
            let token = tokens.token().await;
            let token = token.map_err(|error| ModelError::new(ModelFault::Auth, endpoint.quote(&error.to_string())))?;
            post.headers.push(RequestHeader::bearer(token.clone()));
            // The token is hidden in messages like any key.
            let config = Provider { key: ProviderKey::Present(token), tokens: None, ..endpoint.config.clone() };
            endpoint = Arc::new(ModelEndpoint { config, ..ModelEndpoint::clone(&endpoint) });
        }
        let answer = client.post(post).await.map_err(|error| fault::from_net(&endpoint, &error))?;
        if !answer.is_success() {
            return Err(fault::from_response(&endpoint, answer, at).await);
        }
        let kind = answer.header("content-type").unwrap_or_default();
        if kind.starts_with("text/html") || kind.starts_with("application/json") {
            return Err(fault::from_unexpected_body(&endpoint, answer, at).await.after_start());
        }
        let stream = AnswerStream::new(endpoint.config.wire, &endpoint.model);
        Ok(AnswerReader {
            response: answer,
            decoder: sse::SseDecoder::default(),
            stream,
            bytes: 0,
            failure: None,
            endpoint,
            at,
        })
    }
}

/// The state of an exchange.
enum ExchangeState {
    Send(Box<OutgoingRequest>),
    Read(Box<AnswerReader>),
    Ended,
}

impl ExchangeState {
    async fn next(self) -> Option<(Result<Delta, ModelError>, ExchangeState)> {
        let mut reader = match self {
            ExchangeState::Send(request) => match request.send().await {
                Ok(reader) => Box::new(reader),
                Err(error) => return Some((Err(error), ExchangeState::Ended)),
            },
            ExchangeState::Read(reader) => reader,
            ExchangeState::Ended => return None,
        };
        match reader.next().await {
            Ok(Some(delta)) => Some((Ok(delta), ExchangeState::Read(reader))),
            Ok(None) => None,
            Err(error) => Some((Err(error.after_start()), ExchangeState::Ended)),
        }
    }
}

/// An answer that is being read.
struct AnswerReader {
    response: HttpResponse,
    decoder: sse::SseDecoder,
    stream: AnswerStream,
    bytes: usize,
    /// An error to return after the deltas received before it.
    failure: Option<ModelError>,
    endpoint: Arc<ModelEndpoint>,
    at: Timestamp,
}

/// Maximum bytes of a body. Events are many times larger than the text in them.
const MAX_BODY_BYTES: usize = 16 * ModelReply::MAX_BYTES;

impl AnswerReader {
    async fn next(&mut self) -> Result<Option<Delta>, ModelError> {
        loop {
            if let Some(delta) = self.stream.queue().take() {
                return Ok(Some(delta));
            }
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            if self.stream.queue().is_done() {
                self.drain().await;
                return Ok(None);
            }
            let chunk = self.response.chunk().await.map_err(|error| fault::from_net(&self.endpoint, &error))?;
            if let Err(error) = self.process_chunk(chunk) {
                self.failure = Some(fault::from_stream_error(&self.endpoint, error, self.at));
            }
        }
    }

    fn process_chunk(&mut self, chunk: Option<Bytes>) -> Result<(), StreamError> {
        let Some(chunk) = chunk else {
            let last = std::mem::take(&mut self.decoder).finish().map_err(|_| StreamError::TooLarge)?;
            self.process_events(last)?;
            return if self.stream.queue().is_done() { Ok(()) } else { self.stream.end() };
        };
        self.bytes = self.bytes.saturating_add(chunk.len());
        if self.bytes > MAX_BODY_BYTES {
            return Err(StreamError::TooLarge);
        }
        let events = self.decoder.push(&chunk).map_err(|_| StreamError::TooLarge)?;
        self.process_events(events)
    }

    fn process_events(&mut self, events: impl IntoIterator<Item = sse::ServerSentEvent>) -> Result<(), StreamError> {
        for event in events {
            if self.stream.queue().is_done() {
                break;
            }
            self.stream.event(&event)?;
        }
        Ok(())
    }

    /// Reads the rest after a complete answer, so that the connection can be reused.
    async fn drain(&mut self) {
        const DRAIN_TIMEOUT: Duration = Duration::from_millis(20);
        const MAX_CHUNKS: usize = 8;
        let end = async {
            for _ in 0..MAX_CHUNKS {
                let Ok(Some(_)) = self.response.chunk().await else { break };
            }
        };
        // The result does not matter: without an end the connection is closed.
        let _ = timeout(DRAIN_TIMEOUT, end).await;
    }
}
