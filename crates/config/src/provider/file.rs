//! Provider settings in a file; every key is optional.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use model::WireFormat;
use protocol::{Price, Usd};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::ProviderError;

/// The settings of a provider in one layer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProviderFile {
    /// Its wire protocol.
    pub kind: Option<ProviderKind>,
    /// Its address.
    #[serde(alias = "base_url")]
    pub base_url: Option<String>,
    /// The variable with its key; empty for none.
    #[serde(alias = "key_env")]
    pub key_env: Option<String>,
    /// A key, which is not allowed here. Its value is not even read.
    #[serde(skip_serializing, alias = "api-key", alias = "api_key", alias = "token", alias = "secret")]
    pub key: Option<IgnoredAny>,
    /// Whether its key may go over plain http to another machine.
    pub insecure: Option<bool>,
    /// Whether its models are small and need help with tool calls.
    pub small: Option<bool>,
    /// Maximum number of concurrent requests.
    #[serde(alias = "at_once")]
    pub at_once: Option<NonZeroU32>,
    /// Its models, by name.
    #[serde(default)]
    pub models: BTreeMap<String, ModelFile>,
}

/// The wire protocol of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    Openai,
    /// OpenAI Chat Completions, and everything compatible.
    #[serde(alias = "openai_chat")]
    OpenaiChat,
}

/// The limits and prices of a model. Prices are in US dollars per million tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ModelFile {
    /// Maximum tokens of a request and its answer together.
    pub context: Option<NonZeroU64>,
    /// Maximum tokens of one answer.
    #[serde(alias = "max_output")]
    pub max_output: Option<NonZeroU32>,
    /// Uncached input tokens.
    pub input: Option<Usd>,
    /// Output tokens.
    pub output: Option<Usd>,
    /// Input tokens read from the cache; same as `input` when absent.
    #[serde(alias = "cache_read")]
    pub cache_read: Option<Usd>,
    /// Input tokens written to the cache; same as `input` when absent.
    #[serde(alias = "cache_write")]
    pub cache_write: Option<Usd>,
}

impl ProviderKind {
    pub(super) fn wire(self) -> WireFormat {
        match self {
            ProviderKind::Anthropic => WireFormat::Anthropic,
            ProviderKind::Openai => WireFormat::Responses,
            ProviderKind::OpenaiChat => WireFormat::Chat,
        }
    }
}

impl ProviderFile {
    /// Merges this layer over a weaker one.
    pub fn over(self, weaker: ProviderFile) -> ProviderFile {
        let ProviderFile { kind, base_url, key_env, key, insecure, small, at_once, mut models } = self;
        for (name, below) in weaker.models {
            let above = models.remove(&name).unwrap_or_default();
            models.insert(name, above.over(below));
        }
        ProviderFile {
            kind: kind.or(weaker.kind),
            base_url: base_url.or(weaker.base_url),
            key_env: key_env.or(weaker.key_env),
            key: key.or(weaker.key),
            insecure: insecure.or(weaker.insecure),
            small: small.or(weaker.small),
            at_once: at_once.or(weaker.at_once),
            models,
        }
    }
}

impl ModelFile {
    fn over(self, weaker: ModelFile) -> ModelFile {
        let ModelFile { context, max_output, input, output, cache_read, cache_write } = self;
        ModelFile {
            context: context.or(weaker.context),
            max_output: max_output.or(weaker.max_output),
            input: input.or(weaker.input),
            output: output.or(weaker.output),
            cache_read: cache_read.or(weaker.cache_read),
            cache_write: cache_write.or(weaker.cache_write),
        }
    }

    /// The price, if given; an incomplete one is an error.
    pub(super) fn price(&self, provider: &str, model: &str) -> Result<Option<Price>, ProviderError> {
        let ModelFile { input, output, cache_read, cache_write, .. } = self;
        match (input, output) {
            (Some(Usd(input)), Some(Usd(output))) => Ok(Some(Price {
                input: *input,
                output: *output,
                cache_read: cache_read.map_or(*input, |usd| usd.0),
                cache_write: cache_write.map_or(*input, |usd| usd.0),
            })),
            (None, None) if cache_read.is_none() && cache_write.is_none() => Ok(None),
            (Some(_) | None, Some(_) | None) => {
                Err(ProviderError::IncompletePrice { name: provider.into(), model: model.into() })
            }
        }
    }
}
