//! A model at a provider.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use net::{Header, Post};
use protocol::ModelFault;

use super::account::account;
use super::exchange::Question;
use super::place::Place;
use super::window::{self, Window};
use super::{anthropic, chat, responses};
use crate::{Deltas, Facts, Key, Listed, Model, ModelError, Provider, Request, Skill, Wire};

/// A model that is asked over the network.
#[derive(Debug)]
pub(crate) struct Remote {
    name: String,
    facts: Facts,
    /// What is known since its server was asked.
    learnt: OnceLock<Facts>,
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
            bills: at.key != Key::Needless || !at.extra.headers.is_empty(),
            context,
            max_output: max_output.unwrap_or(Facts::UNKNOWN.max_output),
            skill: if at.small { Skill::Small } else { Skill::Able },
            at_once: at.at_once,
        };
        let place = Place { provider: provider.to_owned(), model: model.to_owned(), at };
        Remote { name: format!("{provider}/{model}"), facts, learnt: OnceLock::new(), place: Arc::new(place), client }
    }

    /// Asks a server of the user's own how long a conversation may be, unless that is known.
    async fn ask_window(&self) {
        let Provider { wire, key, base_url, .. } = &self.place.at;
        let is_own = *wire == Wire::Chat && *key == Key::Needless;
        if !is_own || self.facts.context.is_some() || self.learnt.get().is_some() {
            return;
        }
        let context = match window::ask(base_url, &self.place.model).await {
            Window::Tokens(tokens) => Some(tokens),
            Window::Untold => None,
            Window::NotYet => return,
        };
        // Whoever asked at the same time was told the same.
        let _set_already = self.learnt.set(Facts { context, ..self.facts.clone() });
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
        let Provider { wire, base_url, key, extra, .. } = &self.place.at;
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
        for (name, value) in &extra.headers {
            let header = Header::named(name, value.clone());
            headers.push(header.map_err(|error| ModelError::new(ModelFault::Terminal, error.to_string()))?);
        }
        let query = extra.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        let body = self.body(request).map_err(|error| ModelError::new(ModelFault::Terminal, error.to_string()))?;
        Ok(Post { url: format!("{base_url}{path}{query}"), headers, body: Bytes::from(body) })
    }
}

impl Model for Remote {
    fn name(&self) -> &str {
        &self.name
    }

    fn facts(&self) -> &Facts {
        self.learnt.get().unwrap_or(&self.facts)
    }

    fn learn(&self) -> BoxFuture<'_, ()> {
        self.ask_window().boxed()
    }

    fn ask(&self, request: Request) -> Deltas {
        let post = match self.post(&request) {
            Ok(post) => post,
            Err(error) => return stream::iter([Err(error)]).boxed(),
        };
        Question { client: self.client.clone(), post, place: Arc::clone(&self.place), at: request.at }.ask()
    }
}
