//! Providers and their models as JSON.

use std::collections::BTreeMap;

use config::ProbeResult;
use model::{ModelListing, Provider, ProviderKey, Providers, WireFormat, prices};
use protocol::Price;
use protocol::api::ClosedModelView;
use serde::Serialize;
use tui::money::Money;

/// All providers and their models.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ModelsReport<'a> {
    /// The date of the list prices.
    prices_as_of: &'static str,
    providers: Vec<ProviderReportEntry<'a>>,
    /// Models that are not asked now because their provider asked to wait.
    closed: &'a [ClosedModelView],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ProviderReportEntry<'a> {
    name: &'a str,
    kind: &'static str,
    base_url: &'a str,
    key: KeyState<'a>,
    small: bool,
    at_once: Option<u32>,
    /// The state of the local server; absent for providers that are not probed.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'static str>,
    models: Vec<ModelReportEntry<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "state", rename_all = "camelCase")]
enum KeyState<'a> {
    Needless,
    Missing { variable: &'a str },
    Present { variable: Option<&'a str> },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelReportEntry<'a> {
    name: &'a str,
    /// Whether a server reported it.
    running: bool,
    context: Option<u64>,
    max_output: Option<u32>,
    /// Dollars per million tokens; null if unknown.
    price: Option<PriceInDollars>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PriceInDollars {
    input: Money,
    output: Money,
    cache_read: Money,
    cache_write: Money,
}

/// Builds the report.
pub(super) fn models_report<'a>(
    providers: &'a Providers,
    probes: &'a BTreeMap<String, ProbeResult>,
    closed: &'a [ClosedModelView],
) -> ModelsReport<'a> {
    let entries = providers.by_name.iter();
    let providers = entries.map(|(name, provider)| provider_entry(name, provider, probes.get(name))).collect();
    ModelsReport { prices_as_of: prices::AS_OF, providers, closed }
}

fn provider_entry<'a>(
    name: &'a str,
    provider: &'a Provider,
    probe: Option<&'a ProbeResult>,
) -> ProviderReportEntry<'a> {
    let running = probe.map(ProbeResult::models).unwrap_or_default();
    let listed = provider.models.keys().filter(|name| !running.contains(name));
    let models = running.iter().map(|name| (name, true)).chain(listed.map(|name| (name, false)));
    ProviderReportEntry {
        name,
        kind: wire_name(provider.wire),
        base_url: &provider.base_url,
        key: match &provider.key {
            ProviderKey::NotNeeded => KeyState::Needless,
            ProviderKey::Missing { variable } => KeyState::Missing { variable },
            ProviderKey::Present(secret) => KeyState::Present { variable: secret.variable() },
        },
        small: provider.is_small,
        at_once: provider.max_concurrent_requests,
        server: probe.map(|probe| match probe {
            ProbeResult::Running(_) => "running",
            ProbeResult::NotRunning => "none",
            ProbeResult::OtherServer => "other",
        }),
        models: models.map(|(name, running)| model_entry(name, running, provider.listing(name))).collect(),
    }
}

fn wire_name(wire: WireFormat) -> &'static str {
    match wire {
        WireFormat::Anthropic => "anthropic",
        WireFormat::Responses => "openai",
        WireFormat::Chat => "openai-chat",
    }
}

fn model_entry(name: &str, running: bool, listed: ModelListing) -> ModelReportEntry<'_> {
    let ModelListing { price, context_tokens: context, max_output_tokens: max_output } = listed;
    ModelReportEntry { name, running, context, max_output, price: price.map(price_in_dollars) }
}

fn price_in_dollars(price: Price) -> PriceInDollars {
    let Price { input, output, cache_read, cache_write } = price;
    let [input, output, cache_read, cache_write] = [input, output, cache_read, cache_write].map(Money::Known);
    PriceInDollars { input, output, cache_read, cache_write }
}
