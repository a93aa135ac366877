//! Providers of models: an address, a key, and what is known about each model.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use net::Secret;
use protocol::Price;

use crate::TurnHeaders;

/// The format of requests and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireFormat {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions, and everything compatible.
    Chat,
}

/// The API key of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderKey {
    /// It needs none.
    NotNeeded,
    /// It needs one, and this variable is not set.
    Missing {
        /// The variable.
        variable: String,
    },
    /// The key.
    Present(Secret),
}

/// What is known about a model before its first request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelListing {
    /// The price of its tokens.
    pub price: Option<Price>,
    /// The maximum tokens of a request and its answer together.
    pub context_tokens: Option<u64>,
    /// Maximum tokens of one answer.
    pub max_output_tokens: Option<u32>,
}

/// A provider of models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// The format of requests and answers.
    pub wire: WireFormat,
    /// The address, without a trailing slash: before `/v1/messages` for Anthropic, before `/responses` and
    /// `/chat/completions` for the others.
    pub base_url: String,
    /// Its API key.
    pub key: ProviderKey,
    /// Supplies a token for each request, instead of a key.
    pub tokens: Option<TokenSource>,
    /// Whether its models are small and need help with tool calls.
    pub is_small: bool,
    /// Whether its models run on this machine, so that their tokens cost nothing.
    pub is_free: bool,
    /// How many requests it accepts at once.
    pub max_concurrent_requests: Option<u32>,
    /// Additional parts of its requests.
    pub extra: RequestExtras,
    /// What is known about its models, by name.
    pub models: BTreeMap<String, ModelListing>,
}

/// A provider that the client of a session supplies. Its key is neither stored nor shown, and the client must supply it
/// again to resume the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientProvider {
    /// The provider's address and settings.
    pub provider: Provider,
    /// The model to use; when absent, the one that the session's options name.
    pub model: Option<String>,
}

impl ClientProvider {
    /// The provider's name in model names, before the slash.
    pub const NAME: &str = "client";
}

impl Provider {
    /// A provider of which nothing more is known.
    pub fn new(wire: WireFormat, base_url: impl Into<String>, key: ProviderKey) -> Provider {
        Provider {
            wire,
            base_url: base_url.into(),
            key,
            tokens: None,
            is_small: false,
            is_free: false,
            max_concurrent_requests: None,
            extra: RequestExtras::default(),
            models: BTreeMap::new(),
        }
    }
}

/// Supplies a token for each request to a provider.
pub trait TokenSupplier: fmt::Debug + Send + Sync {
    /// A token that is valid now.
    fn token(&self) -> BoxFuture<'_, Result<Secret, TokenError>>;
}

/// Why there is no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no token for the request: {0}")]
pub struct TokenError(pub String);

/// What supplies the tokens of a provider.
#[derive(Debug, Clone)]
pub struct TokenSource(pub Arc<dyn TokenSupplier>);

impl PartialEq for TokenSource {
    fn eq(&self, other: &TokenSource) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for TokenSource {}

/// Additional parts of the requests to a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestExtras {
    /// Additional headers. Their values may be keys.
    pub headers: Vec<(String, Secret)>,
    /// The query string, such as `api-version=2024-10-21`.
    pub query: Option<String>,
    /// What the provider calls the models that have another name here.
    pub model_names: BTreeMap<String, String>,
    /// The program on whose behalf the requests are sent.
    pub user_agent: Option<String>,
}

/// All providers, and the network settings to reach them.
#[derive(Debug, Clone, Default)]
pub struct Providers {
    /// The providers by name.
    pub by_name: BTreeMap<String, Provider>,
    /// The providers whose models are all listed, except those newer than the list.
    pub fully_listed: BTreeSet<String>,
    /// Proxies and certificates.
    pub route: net::NetworkRoute,
    /// Timeouts.
    pub timeouts: net::HttpTimeouts,
    /// Carries all requests instead of the network.
    pub carrier: Option<Arc<dyn net::RequestCarrier>>,
    /// Headers that the program that drives the session adds to the requests of some turns.
    pub turn_headers: TurnHeaders,
}

impl Providers {
    /// Whether the program that drives the session takes part in requests, so that no other process can send them.
    pub fn needs_client(&self) -> bool {
        self.carrier.is_some() || self.by_name.values().any(|provider| provider.tokens.is_some())
    }
}
