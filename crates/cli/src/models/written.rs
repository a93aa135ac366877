//! Providers and their models as JSON.

use std::collections::BTreeMap;

use model::{Key, Listed, Provider, Providers, Wire, prices};
use protocol::Price;
use serde::Serialize;

use super::closed::Closed;
use super::probe::Found;
use crate::money::Money;

/// Everything that can be asked.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Written<'a> {
    /// The day that the list prices are from.
    prices_as_of: &'static str,
    providers: Vec<Place<'a>>,
    /// What nobody asks for now, since its provider asked to wait.
    closed: &'a [Closed],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Place<'a> {
    name: &'a str,
    kind: &'static str,
    base_url: &'a str,
    key: KeyState<'a>,
    small: bool,
    at_once: Option<u32>,
    /// Whether a server answers; absent where none was looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'static str>,
    models: Vec<Known<'a>>,
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
struct Known<'a> {
    name: &'a str,
    /// Whether a server said that it has it.
    running: bool,
    context: Option<u64>,
    max_output: Option<u32>,
    /// Dollars for a million tokens; null when they are not known.
    price: Option<Dollars>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Dollars {
    input: Money,
    output: Money,
    cache_read: Money,
    cache_write: Money,
}

/// Everything that can be asked.
pub(super) fn all<'a>(
    providers: &'a Providers,
    found: &'a BTreeMap<String, Found>,
    closed: &'a [Closed],
) -> Written<'a> {
    let places = providers.places.iter();
    let providers = places.map(|(name, provider)| place(name, provider, found.get(name))).collect();
    Written { prices_as_of: prices::AS_OF, providers, closed }
}

fn place<'a>(name: &'a str, provider: &'a Provider, found: Option<&'a Found>) -> Place<'a> {
    let running: &[String] = match found {
        Some(Found::Running(models)) => models,
        Some(Found::Nobody | Found::Stranger) | None => &[],
    };
    let listed = provider.models.keys().filter(|name| !running.contains(name));
    let models = running.iter().map(|name| (name, true)).chain(listed.map(|name| (name, false)));
    Place {
        name,
        kind: kind(provider.wire),
        base_url: &provider.base_url,
        key: match &provider.key {
            Key::Needless => KeyState::Needless,
            Key::Missing { variable } => KeyState::Missing { variable },
            Key::Given(secret) => KeyState::Present { variable: secret.variable() },
        },
        small: provider.small,
        at_once: provider.at_once,
        server: found.map(|found| match found {
            Found::Running(_) => "running",
            Found::Nobody => "none",
            Found::Stranger => "other",
        }),
        models: models.map(|(name, running)| known(name, running, provider.listed(name))).collect(),
    }
}

fn kind(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "anthropic",
        Wire::Responses => "openai",
        Wire::Chat => "openai-chat",
    }
}

fn known(name: &str, running: bool, listed: Listed) -> Known<'_> {
    let Listed { price, context, max_output } = listed;
    Known { name, running, context, max_output, price: price.map(dollars) }
}

fn dollars(price: Price) -> Dollars {
    let Price { input, output, cache_read, cache_write } = price;
    let [input, output, cache_read, cache_write] = [input, output, cache_read, cache_write].map(Money::Known);
    Dollars { input, output, cache_read, cache_write }
}
