//! Keys, the chosen model, and servers of local models.

use std::collections::BTreeMap;

use config::ModelAccess;
use model::{ProviderKey, Providers};

use super::{DoctorCheck, DoctorContext};
use crate::models::{ProbeResult, probe_local_servers};

pub(super) async fn checks(scene: &DoctorContext) -> Vec<DoctorCheck> {
    let Some(access) = &scene.access else { return Vec::new() };
    let found = probe_local_servers(access).await;
    let mut checks = vec![keys(&access.providers, &found)];
    checks.extend(unused_key(scene));
    checks.push(chosen_model(scene, access, &found));
    checks.extend(found.iter().filter_map(|(name, found)| server(name, found)));
    checks
}

/// Which providers have a key; nothing of the keys themselves.
fn keys(providers: &Providers, found: &BTreeMap<String, ProbeResult>) -> DoctorCheck {
    let (mut given, mut missing) = (Vec::new(), Vec::new());
    for (name, provider) in &providers.by_name {
        match &provider.key {
            ProviderKey::Present(secret) => {
                given.push(format!("{name} ({})", secret.variable().unwrap_or("environment")))
            }
            ProviderKey::Missing { variable } => missing.push(variable.as_str()),
            ProviderKey::NotNeeded => {}
        }
    }
    missing.dedup();
    let runs = found.values().any(|found| matches!(found, ProbeResult::Running(models) if !models.is_empty()));
    match (given.is_empty(), runs) {
        (false, _) => DoctorCheck::ok("keys", given.join(", ")),
        (true, true) => DoctorCheck::ok("keys", "none, and a local server needs none"),
        (true, false) => DoctorCheck::warn(
            "keys",
            "no provider has a key, and no local server runs",
            format!(
                "set {}, or start Ollama, llama.cpp or LM Studio; `bosun demo` needs neither",
                missing.join(" or ")
            ),
        ),
    }
}

/// A variable that other programs read and Bosun does not.
fn unused_key(scene: &DoctorContext) -> Option<DoctorCheck> {
    let set = |name| scene.env.text(name).is_some();
    let only = set("ANTHROPIC_AUTH_TOKEN") && !set("ANTHROPIC_API_KEY");
    let text = "ANTHROPIC_AUTH_TOKEN is set, which Bosun does not use";
    only.then(|| DoctorCheck::warn("keys", text, "set ANTHROPIC_API_KEY to an API key"))
}

/// The model that a run without `--model` asks.
fn chosen_model(scene: &DoctorContext, access: &ModelAccess, found: &BTreeMap<String, ProbeResult>) -> DoctorCheck {
    // Where no settings can be read, the variable is all there is.
    let named = scene.config.model.clone().or_else(|| scene.env.model.clone());
    let Some(spec) = named.or_else(|| access.default_model().map(|default| default.spec)) else {
        return DoctorCheck::warn(
            "model",
            "no model is chosen",
            "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or give one with --model PROVIDER/NAME, BOSUN_MODEL, or `model` in config.toml; `bosun models` lists what there is",
        );
    };
    // A file is named as it was written.
    let is_file = spec.split_once('/').is_some_and(|(provider, _)| model::is_file_provider(provider));
    let spec = if is_file { spec } else { access.providers.full_name(&spec, &scene.cwd) };
    if let Err(error) = model::open(&spec, &scene.cwd, &access.providers) {
        return DoctorCheck::fail(
            "model",
            error.to_string(),
            "`bosun models` lists the providers, their keys and what they serve",
        );
    }
    let (provider, name) = spec.split_once('/').unwrap_or((&spec, ""));
    match found.get(provider) {
        Some(ProbeResult::Running(models)) if !models.iter().any(|served| served == name) => {
            let served = if models.is_empty() { "none".to_owned() } else { models.join(", ") };
            DoctorCheck::fail(
                "model",
                format!("{spec} is chosen, and {provider} has {served}"),
                "load the model, or choose one that is there",
            )
        }
        Some(ProbeResult::NotRunning) => DoctorCheck::fail(
            "model",
            format!("{spec} is chosen, and {provider} does not run"),
            format!("start {provider}"),
        ),
        Some(ProbeResult::OtherServer) => DoctorCheck::fail(
            "model",
            format!("{spec} is chosen, and something else answers where {provider} should be"),
            format!("start {provider}, or give its address in config.toml: [providers.{provider}] base-url"),
        ),
        None if is_unknown(&access.providers, provider, name) => DoctorCheck::warn(
            "model",
            format!("{spec} is chosen, which is not among the models that Bosun knows"),
            "check its name with `bosun models`; without a price no budget in dollars can be held",
        ),
        Some(ProbeResult::Running(_)) | None => {
            DoctorCheck::ok("model", format!("{spec} can be asked (no question was sent)"))
        }
    }
}

/// Whether the provider's models are known and this is none of them.
fn is_unknown(providers: &Providers, provider: &str, name: &str) -> bool {
    providers.by_name.get(provider).is_some_and(|place| !place.models.is_empty() && !place.models.contains_key(name))
}

fn server(name: &str, found: &ProbeResult) -> Option<DoctorCheck> {
    match found {
        ProbeResult::Running(models) if models.is_empty() => {
            Some(DoctorCheck::warn("servers", format!("{name} runs without a model"), "load one"))
        }
        ProbeResult::Running(models) => {
            Some(DoctorCheck::ok("servers", format!("{name} runs, with {}", models.join(", "))))
        }
        ProbeResult::NotRunning | ProbeResult::OtherServer => None,
    }
}
