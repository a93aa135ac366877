//! Providers and their models for people.

use std::collections::BTreeMap;

use model::{Key, Listed, Provider, Providers, prices};

use super::probe::Found;
use crate::money::Money;
use crate::print;

/// Prints every provider with what it serves, and how to choose.
pub(super) fn show(providers: &Providers, found: &BTreeMap<String, Found>) {
    for (name, provider) in &providers.places {
        let state = found.get(name).map_or_else(|| key(&provider.key), server);
        print::row(format_args!("{name:<12}  {:<34}  {state}", provider.base_url));
        let twin = providers.places.iter().find(|(other, twin)| *other < name && same(twin, provider));
        match twin {
            Some((twin, _)) => print::answer(format_args!("  the models of {twin}")),
            None => lines(provider, found.get(name)).into_iter().for_each(|line| print::row(print::plain(&line))),
        }
    }
    print::answer("script        FILE                                answers by rules in a YAML file; needs no key");
    print::answer("replay        FILE                                repeats a recording; needs no key");
    print::note(format_args!(
        "\nprices are for a million tokens, as of {}; a window ends where its price would rise",
        prices::AS_OF
    ));
    print::note(
        "choose one with --model PROVIDER/NAME, BOSUN_MODEL, or `model` in config.toml; NAME alone and a family, such as \
         sonnet, will do",
    );
}

/// Whether two providers serve the same models at the same address.
fn same(one: &Provider, other: &Provider) -> bool {
    !one.models.is_empty() && one.models == other.models && one.base_url == other.base_url
}

fn key(key: &Key) -> String {
    match key {
        Key::Needless => "needs no key".into(),
        Key::Missing { variable } => format!("no key: set {variable}"),
        Key::Given(secret) => format!("key in {}", secret.variable().unwrap_or("the environment")),
    }
}

fn server(found: &Found) -> String {
    match found {
        Found::Running(models) if models.is_empty() => "runs, without a model".into(),
        Found::Running(_) => "runs".into(),
        Found::Nobody => "does not run".into(),
        Found::Stranger => "something else runs there".into(),
    }
}

/// The models that a server said it has, then those that are only known.
fn lines(provider: &Provider, found: Option<&Found>) -> Vec<String> {
    let running: &[String] = match found {
        Some(Found::Running(models)) => models,
        Some(Found::Nobody | Found::Stranger) | None => &[],
    };
    let known = provider.models.keys().filter(|name| !running.contains(name));
    running.iter().chain(known).map(|name| line(name, provider.listed(name))).collect()
}

fn line(name: &str, listed: Listed) -> String {
    let window =
        listed.context.map_or_else(|| "unknown window".to_owned(), |tokens| format!("{} k window", tokens / 1000));
    let price = listed.price.map_or_else(
        || "unknown price".to_owned(),
        |price| format!("{} in, {} out", Money::Known(price.input), Money::Known(price.output)),
    );
    format!("  {name:<24}  {price:<22}  {window}")
}
