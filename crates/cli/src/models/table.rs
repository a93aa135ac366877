//! Prints providers and their models as a table.

use std::collections::BTreeMap;

use config::ProbeResult;
use model::{ModelListing, Provider, ProviderKey, Providers, prices};
use tui::money::Money;
use tui::print;

/// Prints every provider with its models, and how to choose one.
pub(super) fn print_table(providers: &Providers, probes: &BTreeMap<String, ProbeResult>) {
    for (name, provider) in &providers.by_name {
        let state = probes.get(name).map_or_else(|| describe_key(&provider.key), describe_server);
        print::row(format_args!("{name:<12}  {:<34}  {state}", provider.base_url));
        let duplicate = providers
            .by_name
            .iter()
            .find(|(other, duplicate)| *other < name && serves_same_models(duplicate, provider));
        match duplicate {
            Some((duplicate, _)) => print::output(format_args!("  same models as {duplicate}")),
            None => {
                model_lines(provider, probes.get(name)).into_iter().for_each(|line| print::row(print::sanitize(&line)))
            }
        }
    }
    print::output("script        FILE                                answers by rules in a YAML file; needs no key");
    print::output("replay        FILE                                repeats a recording; needs no key");
    print::note(format_args!(
        "\nprices are per million tokens, as of {}; windows are capped where a higher price would start",
        prices::AS_OF
    ));
    print::note(
        "choose one with --model PROVIDER/NAME, BOSUN_MODEL, or `model` in config.toml; NAME alone and a family, such as \
         sonnet, also work",
    );
}

/// Whether two providers serve the same models at the same address.
fn serves_same_models(one: &Provider, other: &Provider) -> bool {
    !one.models.is_empty() && one.models == other.models && one.base_url == other.base_url
}

fn describe_key(key: &ProviderKey) -> String {
    match key {
        ProviderKey::NotNeeded => "needs no key".into(),
        ProviderKey::Missing { variable } => format!("no key: set {variable}"),
        ProviderKey::Present(secret) => format!("key in {}", secret.variable().unwrap_or("the environment")),
    }
}

fn describe_server(probe: &ProbeResult) -> String {
    match probe {
        ProbeResult::Running(models) if models.is_empty() => "running, without a model".into(),
        ProbeResult::Running(_) => "running".into(),
        ProbeResult::NotRunning => "not running".into(),
        ProbeResult::OtherServer => "another server runs there".into(),
    }
}

/// The models that the server reported, then other known ones.
fn model_lines(provider: &Provider, probe: Option<&ProbeResult>) -> Vec<String> {
    let running = probe.map(ProbeResult::models).unwrap_or_default();
    let known = provider.models.keys().filter(|name| !running.contains(name));
    running.iter().chain(known).map(|name| model_line(name, provider.listing(name))).collect()
}

fn model_line(name: &str, listed: ModelListing) -> String {
    let window = listed
        .context_tokens
        .map_or_else(|| "unknown window".to_owned(), |tokens| format!("{} k window", tokens / 1000));
    let price = match listed.price {
        None => "unknown price".to_owned(),
        Some(price) if price.is_free() => "free".to_owned(),
        Some(price) => format!("{} in, {} out", Money::Known(price.input), Money::Known(price.output)),
    };
    format!("  {name:<24}  {price:<22}  {window}")
}
