//! Where models live: an address, a key, and what is known of each.

use std::collections::{BTreeMap, BTreeSet};

use net::Secret;
use protocol::Price;

/// The form of requests and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireFormat {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions, and everything compatible.
    Chat,
}

/// How a provider knows its customer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderKey {
    /// It asks for none.
    NotNeeded,
    /// It asks for one, and this variable does not hold it.
    Missing {
        /// The variable.
        variable: String,
    },
    /// This one.
    Present(Secret),
}

/// What is known of a model before it is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelListing {
    /// What its tokens cost.
    pub price: Option<Price>,
    /// How many tokens a request and its answer may have together.
    pub context: Option<u64>,
    /// Most tokens of one answer.
    pub max_output: Option<u32>,
}

/// One place that models are asked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// The form of requests and answers.
    pub wire: WireFormat,
    /// The address, without a slash at its end: before `/v1/messages` for Anthropic, before `/responses` and
    /// `/chat/completions` for the others.
    pub base_url: String,
    /// How it knows its customer.
    pub key: ProviderKey,
    /// Whether its models are small and need help with tool calls.
    pub is_small: bool,
    /// How many requests it takes at once.
    pub max_concurrent_requests: Option<u32>,
    /// What its requests carry besides.
    pub extra: RequestExtras,
    /// What is known of its models, by name.
    pub models: BTreeMap<String, ModelListing>,
}

/// What the requests to a provider carry besides what its wire asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestExtras {
    /// More headers. What stands in them may be a key.
    pub headers: Vec<(String, Secret)>,
    /// What follows the path, such as `api-version=2024-10-21`.
    pub query: Option<String>,
}

/// Every place that models can be asked at, and the way there.
#[derive(Debug, Clone, Default)]
pub struct Providers {
    /// The places by name.
    pub by_name: BTreeMap<String, Provider>,
    /// The providers of which every model is listed, but for those that came after the list.
    pub complete: BTreeSet<String>,
    /// The way: proxies, certificates.
    pub route: net::NetworkRoute,
    /// How long to wait.
    pub timeouts: net::HttpTimeouts,
}
