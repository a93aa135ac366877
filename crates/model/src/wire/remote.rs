//! A model at a provider.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use net::{PostRequest, RequestHeader};
use protocol::ModelFault;

use super::account::account_id;
use super::endpoint::ModelEndpoint;
use super::exchange::OutgoingRequest;
use super::window::{self, ContextWindow};
use super::{anthropic, chat, responses};
use crate::{
    Delta, Deltas, Model, ModelError, ModelFacts, ModelListing, ModelRequest, ModelTier, Provider, ProviderKey,
    TurnHeaders, WireFormat,
};

/// The name of this program in requests.
const BOSUN: &str = concat!("bosun/", env!("CARGO_PKG_VERSION"));

/// A model that is reached over the network.
#[derive(Debug)]
pub(crate) struct RemoteModel {
    name: String,
    facts: ModelFacts,
    /// The facts after its server was asked.
    refreshed_facts: OnceLock<ModelFacts>,
    endpoint: Arc<ModelEndpoint>,
    client: net::HttpClient,
    turn_headers: TurnHeaders,
}

impl RemoteModel {
    /// The model `model` of `provider`, which has this configuration.
    pub(crate) fn new(provider: &str, model: &str, config: Provider, client: net::HttpClient) -> RemoteModel {
        let ModelListing { price, context_tokens: context, max_output_tokens: max_output } = config.listing(model);
        let facts = ModelFacts {
            bucket_key: Some(format!("{provider}/{}/{model}", account_id(&config.key))),
            price,
            is_billed: config.key != ProviderKey::NotNeeded
                || config.tokens.is_some()
                || !config.extra.headers.is_empty(),
            context_tokens: context,
            max_output_tokens: max_output.unwrap_or(ModelFacts::UNKNOWN.max_output_tokens),
            tier: if config.is_small { ModelTier::Small } else { ModelTier::Capable },
            max_concurrent_requests: config.max_concurrent_requests,
        };
        let endpoint = ModelEndpoint { provider: provider.to_owned(), model: model.to_owned(), config };
        RemoteModel {
            name: format!("{provider}/{model}"),
            facts,
            refreshed_facts: OnceLock::new(),
            endpoint: Arc::new(endpoint),
            client,
            turn_headers: TurnHeaders::default(),
        }
    }

    /// Adds these headers to requests.
    pub(crate) fn with_turn_headers(self, turn_headers: TurnHeaders) -> RemoteModel {
        RemoteModel { turn_headers, ..self }
    }

    /// The endpoint with the headers of this turn.
    fn current_endpoint(&self) -> Arc<ModelEndpoint> {
        let added = self.turn_headers.current();
        if added.is_empty() {
            return Arc::clone(&self.endpoint);
        }
        let mut endpoint = ModelEndpoint::clone(&self.endpoint);
        endpoint.config.extra.headers.extend(added);
        Arc::new(endpoint)
    }

    /// Asks the user's own server for the context window, unless it is known.
    async fn probe_context_window(&self) {
        let Provider { wire, key, tokens, base_url, .. } = &self.endpoint.config;
        let is_own = *wire == WireFormat::Chat && *key == ProviderKey::NotNeeded && tokens.is_none();
        if !is_own
            || self.client.is_carried()
            || self.facts.context_tokens.is_some()
            || self.refreshed_facts.get().is_some()
        {
            return;
        }
        let context = match window::fetch_context_window(base_url, &self.endpoint.model).await {
            ContextWindow::Tokens(tokens) => Some(tokens),
            ContextWindow::NotReported => None,
            ContextWindow::NotReady => return,
        };
        // A concurrent probe got the same answer.
        let _set_already = self.refreshed_facts.set(ModelFacts { context_tokens: context, ..self.facts.clone() });
    }

    fn body(&self, request: &ModelRequest) -> serde_json::Result<Vec<u8>> {
        let (name, config) = (&self.endpoint.model, &self.endpoint.config);
        let model = config.extra.model_names.get(name).unwrap_or(name);
        let max_tokens = request.max_output_tokens.unwrap_or(self.facts.max_output_tokens);
        match config.wire {
            WireFormat::Anthropic => anthropic::body(model, request, max_tokens),
            WireFormat::Responses => responses::body(model, request, max_tokens),
            WireFormat::Chat => chat::body(model, request, max_tokens, chat::MaxTokensField::for_url(&config.base_url)),
        }
    }

    fn post(&self, endpoint: &ModelEndpoint, request: &ModelRequest) -> Result<PostRequest, ModelError> {
        let Provider { wire, base_url, key, extra, .. } = &endpoint.config;
        let path = match wire {
            WireFormat::Anthropic => "/v1/messages",
            WireFormat::Responses => "/responses",
            WireFormat::Chat => "/chat/completions",
        };
        let mut headers = vec![RequestHeader::plain("content-type", "application/json")];
        headers.push(RequestHeader::plain("accept", "text/event-stream"));
        if *wire == WireFormat::Anthropic {
            headers.push(RequestHeader::plain("anthropic-version", "2023-06-01"));
        }
        match (key, wire) {
            (ProviderKey::Present(secret), WireFormat::Anthropic) => {
                headers.push(RequestHeader::secret("x-api-key", secret.clone()))
            }
            (ProviderKey::Present(secret), WireFormat::Responses | WireFormat::Chat) => {
                headers.push(RequestHeader::bearer(secret.clone()))
            }
            (ProviderKey::NotNeeded | ProviderKey::Missing { .. }, _) => {}
        }
        if let Some(program) = &extra.user_agent {
            headers.push(RequestHeader::plain("user-agent", format!("{BOSUN} {program}")));
        }
        for (name, value) in &extra.headers {
            let header = RequestHeader::user_defined(name, value.clone());
            headers.push(header.map_err(|error| ModelError::new(ModelFault::Terminal, error.to_string()))?);
        }
        let query = extra.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        let body = self.body(request).map_err(|error| ModelError::new(ModelFault::Terminal, error.to_string()))?;
        Ok(PostRequest { url: format!("{base_url}{path}{query}"), headers, body: Bytes::from(body) })
    }
}

impl Model for RemoteModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn facts(&self) -> &ModelFacts {
        self.refreshed_facts.get().unwrap_or(&self.facts)
    }

    fn refresh_facts(&self) -> BoxFuture<'_, ()> {
        self.probe_context_window().boxed()
    }

    fn send(&self, request: ModelRequest) -> Deltas {
        let endpoint = self.current_endpoint();
        let post = match self.post(&endpoint, &request) {
            Ok(post) => post,
            Err(error) => return stream::iter([Err(error)]).boxed(),
        };
        let deltas = OutgoingRequest {
            client: self.client.on_behalf_of(&request.path),
            post,
            endpoint,
            at: request.requested_at,
        }
        .into_deltas();
        let own_name = &self.endpoint.model;
        match self.endpoint.config.extra.model_names.get(own_name) {
            Some(wire_name) => {
                let (own_name, wire_name) = (own_name.clone(), wire_name.clone());
                deltas.map(move |delta| delta.map(|delta| with_own_name(delta, &wire_name, &own_name))).boxed()
            }
            None => deltas,
        }
    }
}

/// The delta with the model's name here instead of the provider's.
fn with_own_name(delta: Delta, wire_name: &str, own_name: &str) -> Delta {
    match delta {
        Delta::Done { stop, usage, model } if model == wire_name => {
            Delta::Done { stop, usage, model: own_name.to_owned() }
        }
        other => other,
    }
}
