//! A model at a provider.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use net::{Answer, Header, Post, sse};
use protocol::{At, ModelFault};

use super::account::account;
use super::arrival::Trouble;
use super::events::Stream;
use super::place::Place;
use super::{anthropic, chat, fault, responses};
use crate::{Delta, Deltas, Facts, Key, Listed, Model, ModelError, Provider, Reply, Request, Skill, Wire};

/// A model that is asked over the network.
#[derive(Debug)]
pub(crate) struct Remote {
    name: String,
    facts: Facts,
    place: Arc<Place>,
    client: net::Client,
}

impl Remote {
    /// The model that `provider`, which is at `at`, calls `model`.
    pub(crate) fn new(provider: &str, model: &str, at: Provider, client: net::Client) -> Remote {
        let Listed { price, context, max_output } = at.listed(model);
        let facts = Facts {
            bucket: Some(format!("{provider}/{}/{model}", account(&at.key))),
            price,
            context,
            max_output: max_output.unwrap_or(Facts::UNKNOWN.max_output),
            skill: if at.small { Skill::Small } else { Skill::Able },
            at_once: at.at_once,
        };
        let place = Place { provider: provider.to_owned(), model: model.to_owned(), at };
        Remote { name: format!("{provider}/{model}"), facts, place: Arc::new(place), client }
    }

    fn body(&self, request: &Request) -> serde_json::Result<Vec<u8>> {
        let (model, at) = (&self.place.model, &self.place.at);
        let max_tokens = request.max_output.unwrap_or(self.facts.max_output);
        match at.wire {
            Wire::Anthropic => anthropic::body(model, request, max_tokens),
            Wire::Responses => responses::body(model, request, max_tokens),
            Wire::Chat => chat::body(model, request, max_tokens, chat::Limit::of(&at.base_url)),
        }
    }

    fn post(&self, request: &Request) -> Result<Post, ModelError> {
        let Provider { wire, base_url, key, .. } = &self.place.at;
        let path = match wire {
            Wire::Anthropic => "/v1/messages",
            Wire::Responses => "/responses",
            Wire::Chat => "/chat/completions",
        };
        let mut headers = vec![Header::plain("content-type", "application/json")];
        headers.push(Header::plain("accept", "text/event-stream"));
        if *wire == Wire::Anthropic {
            headers.push(Header::plain("anthropic-version", "2023-06-01"));
        }
        match (key, wire) {
            (Key::Given(secret), Wire::Anthropic) => headers.push(Header::secret("x-api-key", secret.clone())),
            (Key::Given(secret), Wire::Responses | Wire::Chat) => headers.push(Header::bearer(secret.clone())),
            (Key::Needless | Key::Missing { .. }, _) => {}
        }
        let body = self.body(request).map_err(|error| ModelError::new(ModelFault::Terminal, error.to_string()))?;
        Ok(Post { url: format!("{base_url}{path}"), headers, body: Bytes::from(body) })
    }
}

impl Model for Remote {
    fn name(&self) -> &str {
        &self.name
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn ask(&self, request: Request) -> Deltas {
        let post = match self.post(&request) {
            Ok(post) => post,
            Err(error) => return stream::iter([Err(error)]).boxed(),
        };
        let question = Question { client: self.client.clone(), post, place: Arc::clone(&self.place), at: request.at };
        stream::unfold(Step::Ask(Box::new(question)), Step::next).boxed()
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
            Step::Ask(question) => match question.ask().await {
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

/// A request that is about to be sent.
struct Question {
    client: net::Client,
    post: Post,
    place: Arc<Place>,
    at: At,
}

impl Question {
    async fn ask(self) -> Result<Reading, ModelError> {
        let Question { client, post, place, at } = self;
        let answer = client.post(post).await.map_err(|error| fault::from_net(&error))?;
        if !answer.is_success() {
            return Err(fault::from_answer(&place, answer, at).await);
        }
        let kind = answer.header("content-type").unwrap_or_default();
        if kind.starts_with("text/html") || kind.starts_with("application/json") {
            return Err(fault::from_other(&place, answer, at).await.begun());
        }
        let stream = Stream::new(place.at.wire, &place.model);
        Ok(Reading { answer, decoder: sse::Decoder::default(), stream, bytes: 0, place, at })
    }
}

/// An answer that is being read.
struct Reading {
    answer: Answer,
    decoder: sse::Decoder,
    stream: Stream,
    bytes: usize,
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
            if self.stream.arrival().is_done() {
                self.rest().await;
                return Ok(None);
            }
            let chunk = self.answer.chunk().await.map_err(|error| fault::from_net(&error))?;
            self.take_in(chunk).map_err(|trouble| fault::from_trouble(&self.place, trouble, self.at))?;
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
        const MOMENT: std::time::Duration = std::time::Duration::from_millis(20);
        let end = async { while let Ok(Some(_)) = self.answer.chunk().await {} };
        // Whether it came to an end does not matter: without one the connection is closed.
        let _ = tokio::time::timeout(MOMENT, end).await;
    }
}
