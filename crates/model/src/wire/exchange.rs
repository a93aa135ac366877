//! One request and its answer, piece by piece.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use net::{Answer, Post, sse};
use protocol::At;
use tokio::time::timeout;

use super::arrival::Trouble;
use super::events::Stream;
use super::fault;
use super::place::Place;
use crate::{Delta, Deltas, ModelError, Reply};

/// A request that is about to be sent.
pub(super) struct Question {
    pub(super) client: net::Client,
    pub(super) post: Post,
    pub(super) place: Arc<Place>,
    /// When it is asked.
    pub(super) at: At,
}

impl Question {
    /// Asks, and gives what comes.
    pub(super) fn ask(self) -> Deltas {
        stream::unfold(Step::Ask(Box::new(self)), Step::next).boxed()
    }

    async fn send(self) -> Result<Reading, ModelError> {
        let Question { client, post, place, at } = self;
        let answer = client.post(post).await.map_err(|error| fault::from_net(&place, &error))?;
        if !answer.is_success() {
            return Err(fault::from_answer(&place, answer, at).await);
        }
        let kind = answer.header("content-type").unwrap_or_default();
        if kind.starts_with("text/html") || kind.starts_with("application/json") {
            return Err(fault::from_other(&place, answer, at).await.begun());
        }
        let stream = Stream::new(place.at.wire, &place.model);
        Ok(Reading { answer, decoder: sse::Decoder::default(), stream, bytes: 0, failure: None, place, at })
    }
}

/// Where an exchange stands.
enum Step {
    Ask(Box<Question>),
    Read(Box<Reading>),
    Over,
}

impl Step {
    async fn next(self) -> Option<(Result<Delta, ModelError>, Step)> {
        let mut reading = match self {
            Step::Ask(question) => match question.send().await {
                Ok(reading) => Box::new(reading),
                Err(error) => return Some((Err(error), Step::Over)),
            },
            Step::Read(reading) => reading,
            Step::Over => return None,
        };
        match reading.next().await {
            Ok(Some(delta)) => Some((Ok(delta), Step::Read(reading))),
            Ok(None) => None,
            Err(error) => Some((Err(error.begun()), Step::Over)),
        }
    }
}

/// An answer that is being read.
struct Reading {
    answer: Answer,
    decoder: sse::Decoder,
    stream: Stream,
    bytes: usize,
    /// What went wrong, after what arrived before it.
    failure: Option<ModelError>,
    place: Arc<Place>,
    at: At,
}

/// Most bytes of a body. Events are many times larger than the words in them.
const BODY: usize = 16 * Reply::MAX_BYTES;

impl Reading {
    async fn next(&mut self) -> Result<Option<Delta>, ModelError> {
        loop {
            if let Some(delta) = self.stream.arrival().take() {
                return Ok(Some(delta));
            }
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            if self.stream.arrival().is_done() {
                self.rest().await;
                return Ok(None);
            }
            let chunk = self.answer.chunk().await.map_err(|error| fault::from_net(&self.place, &error))?;
            if let Err(trouble) = self.take_in(chunk) {
                self.failure = Some(fault::from_trouble(&self.place, trouble, self.at));
            }
        }
    }

    fn take_in(&mut self, chunk: Option<Bytes>) -> Result<(), Trouble> {
        let Some(chunk) = chunk else {
            let last = std::mem::take(&mut self.decoder).finish().map_err(|_| Trouble::TooLarge)?;
            self.events(last)?;
            return if self.stream.arrival().is_done() { Ok(()) } else { self.stream.end() };
        };
        self.bytes = self.bytes.saturating_add(chunk.len());
        if self.bytes > BODY {
            return Err(Trouble::TooLarge);
        }
        let events = self.decoder.push(&chunk).map_err(|_| Trouble::TooLarge)?;
        self.events(events)
    }

    fn events(&mut self, events: impl IntoIterator<Item = sse::Event>) -> Result<(), Trouble> {
        for event in events {
            if self.stream.arrival().is_done() {
                break;
            }
            self.stream.event(&event)?;
        }
        Ok(())
    }

    /// Reads what may still follow a complete answer, so that the connection can be used again.
    async fn rest(&mut self) {
        const MOMENT: Duration = Duration::from_millis(20);
        const PIECES: usize = 8;
        let end = async {
            for _ in 0..PIECES {
                let Ok(Some(_)) = self.answer.chunk().await else { break };
            }
        };
        // Whether it came to an end does not matter: without one the connection is closed.
        let _ = timeout(MOMENT, end).await;
    }
}
